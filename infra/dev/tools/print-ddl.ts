// Prints the SQL of all tables and views: `node infra/dev/tools/print-ddl.ts > infra/questdb/schema.sql` (or of the namespace given).
import { formatSchema } from '../../../processors/sinks/ddl.ts';

process.stdout.write(`${formatSchema(process.argv[2] ?? '')}\n`);
