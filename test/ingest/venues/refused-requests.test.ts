// A request that the venue refuses, on a socket or by REST: a refusal to the mapper, which is counted and loses nothing; the collector takes the frame for an error.
import t from 'tap';
import { VenueRefusal } from '../../../ingest/venues/contract/listings.ts';
import { venues } from '../../../ingest/venues/index.ts';

/** As many as the collector asks for in one request: some venues repeat the request before the refusal. */
const CONTRACTS = Array.from({ length: 50 }, (_, i) => `CONTRACT${i}_USDT`);

/** In the forms of the venues' docs; Gate's second one is that of live frames of September 2026. */
const REFUSALS: Readonly<Record<string, readonly string[]>> = {
  aster: ['{"error":{"code":2,"msg":"Invalid request"},"id":1}'],
  binance: ['{"error":{"code":2,"msg":"Invalid request"},"id":1}', '{"code":-1121,"msg":"Invalid symbol."}'],
  bitget: ['{"event":"error","arg":{"instType":"x","topic":"y"},"code":30001,"msg":"channel does not exist"}'],
  bitmex: [
    '{"status":400,"error":"Unknown table: x","meta":{},"request":{}}',
    JSON.stringify({ status: 400, error: 'Unknown table: x', meta: {}, request: { op: 'subscribe', args: CONTRACTS } }),
  ],
  bybit: ['{"success":false,"ret_msg":"error:handler not found,topic:tickers.X","conn_id":"c","op":"subscribe"}'],
  deribit: ['{"jsonrpc":"2.0","id":5,"error":{"code":11050,"message":"bad_request"},"testnet":false}'],
  dydx: ['{"type":"error","message":"Invalid subscription id for channel","connection_id":"c","message_id":1}'],
  gate: [
    '{"time":1,"channel":"futures.tickers","event":"subscribe","error":{"code":2,"message":"unknown contract X"}}',
    JSON.stringify({
      time: 1_789_456_896,
      time_ms: 1_789_456_896_882,
      conn_id: 'bf37dda1698c8b1e',
      trace_id: '8d22020b2227c599fc38c061b09df478',
      channel: 'futures.tickers',
      event: 'subscribe',
      payload: CONTRACTS,
      error: { code: 2, message: 'unknown currency pair: CONTRACT7_USDT' },
      result: { status: 'fail' },
    }),
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

/** Answers to a request, with its path, by venue: dYdX and Hyperliquid refuse by a status alone. */
const ANSWERS: Readonly<Record<string, readonly (readonly [path: string, text: string])[]>> = {
  aster: [['/fapi/v3/depth', '{"code":-1121,"msg":"Invalid symbol."}']],
  binance: [['/fapi/v1/openInterest', '{"code":-1121,"msg":"Invalid symbol."}']],
  bitget: [
    ['/api/v3/market/tickers', '{"code":"40034","msg":"Parameter x does not exist","requestTime":1,"data":null}'],
  ],
  bitmex: [['/api/v1/trade/bucketed', '{"error":{"message":"Invalid symbol","name":"HTTPError"}}']],
  bybit: [['/v5/market/tickers', '{"retCode":10001,"retMsg":"params error","result":{},"retExtInfo":{},"time":1}']],
  deribit: [['/api/v2/public/ticker', '{"jsonrpc":"2.0","error":{"message":"Invalid params","code":-32602},"usIn":1}']],
  gate: [['/api/v4/futures/usdt/order_book', '{"label":"CONTRACT_NOT_FOUND"}']],
  htx: [
    ['/linear-swap-ex/market/depth', '{"status":"error","err-code":"bad-request","err-msg":"invalid","ts":1}'],
    ['/linear-swap-api/v1/swap_funding_rate', '{"status":"error","err_code":1332,"err_msg":"no contract","ts":1}'],
    ['/linear-swap-api/v3/swap_liquidation_orders', '{"code":1030,"msg":"Abnormal service","ts":1}'],
    ...['funding_rate', 'open_interest', 'liquidation_orders'].map(
      (name) => [`/v5/market/${name}`, '{"code":400,"message":"invalid request"}'] as const,
    ),
  ],
  'kraken-futures': [['/derivatives/api/v3/tickers', '{"result":"error","error":"apiLimitExceeded"}']],
  kucoin: [['/api/v1/level2/snapshot', '{"code":"100001","msg":"symbol invalid"}']],
  mexc: [['/api/v1/contract/depth/X', '{"success":false,"code":1001,"message":"Contract does not exist!"}']],
  okx: [['/api/v5/market/books', '{"code":"51001","msg":"Instrument ID does not exist","data":[]}']],
};

/** The same for requests of listings, whose answers are read for both listings and records. */
const REFERENCES: typeof ANSWERS = {
  aster: ['exchangeInfo', 'fundingInfo'].map((name) => [
    `/fapi/v3/${name}`,
    '{"code":-1003,"msg":"Too many requests"}',
  ]),
  binance: ['/fapi/v1', '/dapi/v1'].flatMap((base) => [
    [`${base}/exchangeInfo`, '{"code":-1003,"msg":"Too many requests"}'] as const,
    [`${base}/fundingInfo`, '{"code":-1003,"msg":"Too many requests"}'] as const,
  ]),
  bitget: [['/api/v3/market/instruments?category=USDT-FUTURES', '{"code":"40034","msg":"x","data":null}']],
  bitmex: [['/api/v1/instrument/active', '{"error":{"message":"Rate limit exceeded","name":"RateLimitError"}}']],
  bybit: [['/v5/market/instruments-info?category=linear', '{"retCode":10006,"retMsg":"Too many visits!","result":{}}']],
  deribit: [['/api/v2/public/get_instruments', '{"jsonrpc":"2.0","error":{"message":"Invalid params","code":-32602}}']],
  gate: ['contracts', 'contracts/BTC_USDT'].map((name) => [
    `/api/v4/futures/usdt/${name}`,
    '{"label":"TOO_MANY_REQUESTS","message":"Request Rate limit Exceeded"}',
  ]),
  htx: [['/linear-swap-api/v1/swap_contract_info', '{"status":"error","err_code":1332,"err_msg":"x","ts":1}']],
  'kraken-futures': [['/derivatives/api/v3/instruments', '{"result":"error","error":"apiLimitExceeded"}']],
  kucoin: [['/api/v1/contracts/active', '{"code":"429000","msg":"too many requests"}']],
  mexc: [['/api/v1/contract/detail', '{"success":false,"code":510,"message":"Requests are too frequent"}']],
  okx: [['/api/v5/public/instruments?instType=SWAP', '{"code":"50011","msg":"Too Many Requests","data":[]}']],
};

const catchFault = (run: () => unknown): readonly unknown[] => {
  try {
    run();
    return [];
  } catch (error) {
    return [error];
  }
};

for (const [id, answers] of Object.entries(REFERENCES))
  t.test(`${id}: a refused request of listings is a refusal, and nothing else`, (t) => {
    const venue = venues.get(id);
    for (const [request, text] of answers) {
      const message = { kind: 'response' as const, received_at: 1, request, payload: Buffer.from(text) };
      const faults = [
        ...catchFault(() => venue?.mapReference({}, message)),
        ...catchFault(() => venue?.map({}, message, { listings: new Map() })),
      ];
      t.not(faults.length, 0, request);
      for (const fault of faults) t.ok(fault instanceof VenueRefusal, `${request}: ${String(fault)}`);
    }
    t.end();
  });

for (const [id, answers] of Object.entries(ANSWERS))
  t.test(`${id}: an answer that refuses is a refusal`, (t) => {
    for (const [request, text] of answers) {
      const message = { kind: 'response' as const, received_at: 1, request, payload: Buffer.from(text) };
      t.throws(() => venues.get(id)?.map({}, message, { listings: new Map() }), VenueRefusal, `${request} ${text}`);
    }
    t.end();
  });
