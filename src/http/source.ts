import { moduleSource, type SourceFault, sourceIndex, sourcePart } from '../doors/module-source.ts';
import { callerOf, type HttpContext, targetOf } from './context.ts';
import { type Exchange, HttpError, hintedText, json, type Reply } from './exchange.ts';

/**
 * `GET /v1/database/:db/source`: the module as its author wrote it. Without parameters, which files
 * and functions there are; `function`, or `file` and `lines`, choose a text.
 */
export async function moduleSourceOf(exchange: Exchange, { host }: HttpContext): Promise<Reply> {
  const { query } = exchange;
  const database = host.database(targetOf(exchange));
  host.access.require(callerOf(exchange), database, 'viewSource');
  const ask = {
    file: query.string('file'),
    function: query.string('function'),
    lines: query.string('lines'),
  };
  const source = await moduleSource(database.handle);
  const headers = { 'cache-control': 'no-cache' };
  if (Object.values(ask).every((one) => one === undefined)) {
    return json(200, JSON.stringify(sourceIndex(source)), headers);
  }
  const part = sourcePart(source, ask);
  if ('kind' in part) throw new HttpError(faultReply(part));
  const { file, first, last, count, text } = part;
  const { program, kind } = source;
  const shown = { program, kind, file, lines: `${first}-${last}`, of: count, text };
  return json(200, JSON.stringify(shown), headers);
}

function faultReply({ kind, message, hint }: SourceFault): Reply {
  return hintedText(kind === 'absent' ? 404 : 400, message, hint);
}
