// Every table of an endpoint has the columns that each of its rows has, with rows or without (N-15).
import t from 'tap';
import { writeRows } from '../../../api/data-app/row-formats.ts';
import { listColumns } from '../../../api/data-app/table-columns.ts';
import { OPERATIONS } from '../../../api/operations/index.ts';

const LISTING = 'venue,venue_symbol,instrument,quote';
const COLUMNS: Readonly<Record<string, string>> = {
  history: `${LISTING},layer,retention_from,history_cadence,at,status,venue_ts,received_at,age_ms,venue_age_ms,valid_until,horizon_source,anchor`,
  candles: `${LISTING},retention_from,open_time,close_time,status,received_at,open,high,low,close,volume,base_candles.expected,base_candles.present,base_candles.no_trades`,
  liquidations: `${LISTING},completeness,retention_from,venue_ts,received_at,side,price,price_kind,quantity,value,id`,
};

t.test('a table without rows has the columns of one with rows', async (t) => {
  const endpoints = OPERATIONS.filter(({ rows }) => rows === true);
  t.same(endpoints.map(({ name }) => name).sort(), Object.keys(COLUMNS).sort());
  for (const endpoint of endpoints) {
    const columns = listColumns(endpoint);
    const none = { groups: [], numberFormat: 'json', metadata: {}, onBytes: () => undefined } as const;
    t.equal(String(await writeRows({ ...none, format: 'csv', columns })), `${COLUMNS[endpoint.name]}\r\n`);
    t.ok((await writeRows({ ...none, format: 'parquet', columns })).length > 100);
  }
});
