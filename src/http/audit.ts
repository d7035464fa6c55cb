import { limits } from '../limits.ts';
import { callerOf, type HttpContext } from './context.ts';
import type { Exchange, Reply } from './exchange.ts';

/** `GET /v1/audit?num_lines=100`: the newest lines of the audit log, for operators. */
export async function auditLog(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  host.access.requireOperator(callerOf(exchange), 'read audit log');
  const count = Math.min(exchange.query.count('num_lines') ?? 100, limits.auditTailLinesMax);
  const lines = await host.audit.tail(count);
  const body = lines.map((line) => `${line}\n`);
  const headers = { 'content-type': 'application/x-ndjson', 'cache-control': 'no-cache' };
  return { status: 200, headers, body: body.join('') };
}
