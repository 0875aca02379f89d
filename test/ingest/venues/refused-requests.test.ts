// A frame that refuses a request: the collector takes it for an error, and the mapper for a refusal, which is counted and loses nothing.
import t from 'tap';
import { VenueRefusal } from '../../../ingest/venues/contract/listings.ts';
import { venues } from '../../../ingest/venues/index.ts';

/** In the forms of the venues' docs. */
const REFUSALS: Readonly<Record<string, readonly string[]>> = {
  aster: ['{"error":{"code":2,"msg":"Invalid request"},"id":1}'],
  binance: ['{"error":{"code":2,"msg":"Invalid request"},"id":1}', '{"code":-1121,"msg":"Invalid symbol."}'],
  bitget: ['{"event":"error","arg":{"instType":"x","topic":"y"},"code":30001,"msg":"channel does not exist"}'],
  bitmex: ['{"status":400,"error":"Unknown table: x","meta":{},"request":{}}'],
  bybit: ['{"success":false,"ret_msg":"error:handler not found,topic:tickers.X","conn_id":"c","op":"subscribe"}'],
  deribit: ['{"jsonrpc":"2.0","id":5,"error":{"code":11050,"message":"bad_request"},"testnet":false}'],
  dydx: ['{"type":"error","message":"Invalid subscription id for channel","connection_id":"c","message_id":1}'],
  gate: [
    '{"time":1,"channel":"futures.tickers","event":"subscribe","error":{"code":2,"message":"unknown contract X"}}',
  ],
  htx: [
    '{"status":"error","ts":1,"id":"1","err-code":"bad-request","err-msg":"invalid topic"}',
    '{"op":"sub","cid":"1","topic":"public.X.funding_rate","ts":1,"err-code":2011,"err-msg":"invalid topic"}',
    '{"op":"error","ts":1,"err-code":2005,"err-msg":"invalid request"}',
  ],
  hyperliquid: ['{"channel":"error","data":"Invalid subscription"}'],
  'kraken-futures': [
    '{"event":"alert","message":"Bad websocket message"}',
    '{"event":"error","message":"Invalid product id"}',
    '{"event":"subscribed_failed","feed":"book","product_ids":["PF_X"]}',
  ],
  kucoin: ['{"id":"1","type":"error","code":404,"data":"topic /contractMarket/x is not found"}'],
  mexc: ['{"channel":"rs.error","data":"Contract [X_USDT] not exists","ts":1}'],
  okx: [
    '{"event":"error","code":"60018","msg":"Wrong URL or channel:x,instId:y does not exist","connId":"c"}',
    '{"event":"channel-conn-count-error","channel":"books","connCount":"31","connId":"c"}',
  ],
};

t.same(Object.keys(REFUSALS), [...venues.keys()].sort(), 'each venue has one');

for (const [id, texts] of Object.entries(REFUSALS))
  t.test(`${id}: a refusal is one to the collector and to the mapper`, (t) => {
    const venue = venues.get(id);
    for (const text of texts) {
      t.equal(venue?.classify(text), 'error', text);
      const message = { kind: 'frame' as const, received_at: 1, request: null, payload: Buffer.from(text) };
      t.throws(() => venue?.map({}, message, { listings: new Map() }), VenueRefusal, text);
    }
    t.end();
  });
