import { Stay } from '../doors/stay.ts';
import type { OpenExport } from '../host/transfer/transfer-control.ts';
import { limits } from '../limits.ts';
import { rowFormats } from '../transfer/row-table.ts';
import { callerOf, type HttpContext, openTarget } from './context.ts';
import { type Exchange, type Reply, text } from './exchange.ts';

/**
 * `GET /v1/database/:db/export?tables=&format=`: the rows of tables as a stream, see
 * `transfer/export-frame.ts`.
 */
export async function exportRows(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const { database, caller } = openTarget(exchange, host);
  const by = callerOf(exchange);
  const { query } = exchange;
  const format = query.oneOf('format', rowFormats) ?? 'ndjson';
  const tables = query
    .string('tables')
    ?.split(',')
    .filter((name) => name !== '');
  host.access.require(by, database, 'exportRows');
  if (query.string('at') !== undefined) return text(400, noPastText);
  const stay = new Stay(host, { caller: by, database, rights: caller.rights });
  const fault = (): string | undefined => stay.fault ?? (stay.isOver ? 'token expired' : undefined);
  const answer = await host.transfer.export({ by, caller, fault }, database, { tables, format });
  if ('error' in answer) {
    const { code, message } = answer.error;
    if (code === 'export.tooMany') return text(503, message, { 'retry-after': '1' });
    return text(code === 'export.stopped' ? 503 : 400, message);
  }
  const headers = {
    'content-type': 'application/x-ndjson',
    'reducerdb-position': answer.position,
  };
  return { status: 200, headers, body: streamOf(answer) };
}

const noPastText =
  'An export at an earlier position is not supported; leave out `at` to export the rows as they ' +
  'are now';

/** What a client takes; one that takes nothing for too long is given up, as one that has left. */
function streamOf({ bytes, close }: OpenExport): ReadableStream<Uint8Array> {
  let timer: NodeJS.Timeout | undefined;
  const wait = (giveUp: () => void): void => {
    clearTimeout(timer);
    timer = setTimeout(giveUp, limits.exportIdleMillisMax);
    timer.unref();
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        clearTimeout(timer);
        const { done, value } = await bytes.next();
        if (done === true) {
          controller.close();
          return;
        }
        controller.enqueue(value);
        wait(() => {
          controller.error(new Error('the client took nothing of its export for too long'));
          close();
        });
      },
      cancel() {
        clearTimeout(timer);
        close();
      },
    },
    { highWaterMark: 1 },
  );
}
