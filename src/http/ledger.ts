import { ledgerPageJson, readLedgerAsk } from '../doors/ledger.ts';
import { callerOf, type HttpContext, targetOf } from './context.ts';
import { type Exchange, HttpError, json, type Reply, text } from './exchange.ts';

/**
 * `GET /v1/database/:db/ledger`: who did what, the newest first. `token`, `identity` and `since`
 * choose; `limit` says how many; `cursor` of an answer goes on behind it.
 */
export async function ledger(exchange: Exchange, { host, nowMicros }: HttpContext): Promise<Reply> {
  const { query } = exchange;
  const database = host.database(targetOf(exchange));
  const caller = callerOf(exchange);
  host.access.require(caller, database, 'viewLedger');
  const written = {
    token: query.string('token'),
    identity: query.string('identity'),
    since: query.string('since'),
    limit: query.count('limit'),
    cursor: query.string('cursor'),
  };
  const read = readLedgerAsk(written, nowMicros());
  if ('fault' in read) throw new HttpError(text(400, read.fault));
  const page = await host.ledger.page(caller, database, read.ask);
  return json(200, JSON.stringify(ledgerPageJson(page)), { 'cache-control': 'no-cache' });
}
