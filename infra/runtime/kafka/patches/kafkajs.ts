// kafkajs with its patches applied, one file each; import kafkajs from here to run it.
//
// Other files of `infra/runtime/kafka` call parts of kafkajs that it does not export (cluster.ts, epochs.ts, security.ts). They
// replace nothing, so they are no patches; the version asserted in replace.ts applies to them too.
import './encoder.ts';
import './record.ts';
import './record-batch.ts';
import './read-record.ts';
import './group-messages.ts';
import './request-timer.ts';
import './lost-requests.ts';
import './heartbeats.ts';
import { requirePart } from './replace.ts';

const kafkajs = requirePart<typeof import('kafkajs')>('kafkajs');
export default kafkajs;
