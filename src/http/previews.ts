import { unreachable } from '../assert.ts';
import type { CallError, Caller, Rights } from '../database/outcome.ts';
import type { Preview, PreviewedTable, PreviewOutcome } from '../database/preview-outcome.ts';
import { ownerRights } from '../database/rights.ts';
import { callErrorText } from '../doors/call-error-text.ts';
import { previewJson, previewWithJson } from '../doors/json-call.ts';
import { functionsHint } from '../doors/names-hint.ts';
import { previewedRows, type RowCells } from '../doors/previewed-rows.ts';
import {
  onBehalfOf,
  type Previewed,
  type PreviewOwner,
  type Previews,
  procedureFault,
  unknownPreviewText,
} from '../doors/previews.ts';
import { positionIn } from '../doors/sql-position.ts';
import type { HostedDatabase } from '../host/hosted-database.ts';
import { temporaryConnection } from '../host/supervision/temporary-connection.ts';
import { limits } from '../limits.ts';
import { SqlParametersError, sqlParametersFromJson } from '../protocol/sql-parameters.ts';
import { firstRow, sqlRows } from '../protocol/sql-result.ts';
import { identityFromHex, identityToHex } from '../values/identity.ts';
import { callerIdentity } from '../values/identity-roles.ts';
import { JsonNumber, JsonObject, type JsonValue } from '../values/json.ts';
import { jsonBody, parseBody, wrongShape } from './body.ts';
import { callerOf, type HttpContext, openTarget } from './context.ts';
import { type Exchange, empty, HttpError, hintedText, json, type Reply, text } from './exchange.ts';

/** What the endpoints of previews need: the previews that can still be applied. */
export interface PreviewContext extends Pick<HttpContext, 'host' | 'nowMicros'> {
  readonly previews: Previews;
}

/**
 * `POST /v1/database/:db/previews`: runs a reducer, or statements that write, as they would run
 * now, shows what they would change, and rolls everything back.
 */
export async function preview(exchange: Exchange, context: PreviewContext): Promise<Reply> {
  const { database, caller } = openTarget(exchange, context.host);
  if (!caller.rights.previews) return refusedPreview(database, caller);
  const asked = readAsked(await parseBody(await jsonBody(exchange)));
  const shown = { exchange, context, database, caller, rowsMax: asked.rowsMax };
  const isOwn = asked.as === undefined;
  const asking = isOwn ? caller : callerAs(exchange, context, database, asked);
  const tried = await tryOut(database, { caller: asking, asked, isOwn });
  if ('status' in tried) return tried;
  const { outcome, previewed } = tried;
  if (!('preview' in outcome)) return notRun(outcome);
  const fault = await callFault(database, asking.rights, previewed, outcome.preview);
  return fault ?? json(200, shownJson({ ...shown, isOwn, previewed }, outcome.preview), uncached);
}

/** `POST /v1/database/:db/previews/:id/apply`: does exactly what was shown, or nothing. */
export async function applyPreview(exchange: Exchange, context: PreviewContext): Promise<Reply> {
  const { database, caller } = openTarget(exchange, context.host);
  const { previews } = context;
  const id = exchange.params.id ?? '';
  const kept = previews.find(ownerOf(exchange, database, caller), id);
  if (kept === undefined) return text(404, unknownPreviewText);
  previews.drop(id);
  const work = onBehalfOf(caller, kept.work);
  const previewed = { ...kept, work };
  const rowsMax = limits.agentPreviewRowsMax;
  const outcome = await database.handle.preview({ work, apply: kept.key, rowsMax });
  if (!('preview' in outcome)) return notRun(outcome);
  if (outcome.kind === 'applied') {
    const value = valueJsonOf(previewed, outcome.preview);
    const rest = value === undefined ? '' : `,"value":${value}`;
    return json(200, `{"offset":${outcome.offset}${rest}}`, uncached);
  }
  const shown = { exchange, context, database, caller, rowsMax, isOwn: true, previewed };
  const error = JSON.stringify(
    'Not applied, because by now it would come to something else. Nothing has happened',
  );
  return json(409, `{"error":${error},"preview":${shownJson(shown, outcome.preview)}}`, uncached);
}

/** `DELETE /v1/database/:db/previews/:id`: it cannot be applied any more. */
export function dropPreview(exchange: Exchange, { host, previews }: PreviewContext): Reply {
  const { database, caller } = openTarget(exchange, host);
  const id = exchange.params.id ?? '';
  if (previews.find(ownerOf(exchange, database, caller), id) === undefined) {
    return text(404, unknownPreviewText);
  }
  previews.drop(id);
  return empty(200);
}

const uncached = { 'cache-control': 'no-cache' };

function ownerOf(exchange: Exchange, database: HostedDatabase, { rights }: Caller): PreviewOwner {
  return { callerKey: identityToHex(callerOf(exchange).identity), database, rights };
}

/** The database refuses it before anything runs, so that the ledger has it. */
async function refusedPreview({ handle }: HostedDatabase, caller: Caller): Promise<Reply> {
  const query = { caller, connection: temporaryConnection(), sql: '', confirmed: false };
  const outcome = await handle.preview({ work: { kind: 'query', query } });
  return 'preview' in outcome ? text(403, 'not authorized to preview') : notRun(outcome);
}

function notRun(outcome: Extract<PreviewOutcome, { message: string }>): Reply {
  return text(outcome.kind === 'refused' ? 403 : 402, outcome.message);
}

/** What somebody asks to see. */
interface Asked {
  readonly what:
    | { readonly kind: 'call'; readonly reducer: string; readonly args: JsonValue }
    | { readonly kind: 'sql'; readonly sql: string; readonly parameters: JsonValue };
  readonly as: string | undefined;
  readonly rowsMax: number;
}

function readAsked(body: JsonValue): Asked {
  if (!(body instanceof JsonObject)) throw wrongShape('expected an object');
  const [reducer, sql] = [textIn(body, 'reducer'), textIn(body, 'sql')];
  const rest = { as: textIn(body, 'as'), rowsMax: rowsMaxIn(body) };
  if (reducer !== undefined && sql === undefined) {
    const args = body.get('args') ?? [];
    if (!Array.isArray(args) && !(args instanceof JsonObject)) {
      throw wrongShape('`args` must be an array in the order of parameters, or an object by name');
    }
    return { what: { kind: 'call', reducer, args }, ...rest };
  }
  if (sql !== undefined && reducer === undefined) {
    return { what: { kind: 'sql', sql, parameters: body.get('parameters') ?? null }, ...rest };
  }
  throw wrongShape('give either `reducer`, with `args`, or `sql`, with `parameters`');
}

function textIn(body: JsonObject, name: string): string | undefined {
  const given = body.get(name) ?? undefined;
  if (given === undefined || typeof given === 'string') return given;
  throw wrongShape(`\`${name}\` must be a string`);
}

function rowsMaxIn(body: JsonObject): number {
  const given = body.get('max_rows') ?? undefined;
  if (given === undefined) return limits.agentPreviewRowsMax;
  const count = given instanceof JsonNumber ? Number(given.text) : Number.NaN;
  const most = limits.previewRowsMax;
  if (Number.isInteger(count) && count >= 1 && count <= most) return count;
  throw wrongShape(`\`max_rows\` must be a whole number from 1 to ${most}`);
}

/** Somebody else, as whom the owner looks at what would happen; without a token. */
function callerAs(
  exchange: Exchange,
  { host }: PreviewContext,
  database: HostedDatabase,
  { as = '' }: Asked,
): Caller {
  host.access.require(callerOf(exchange), database, 'previewAs');
  const hex = identityFromHex(as.replace(/^0x/i, ''));
  if (hex === undefined) throw wrongShape('`as` must be an identity: 64 hexadecimal digits');
  const identity = callerIdentity(hex);
  const rights = host.access.rightsIn(database, { identity, payload: '', isAnonymous: false });
  return { identity, rights: { ...rights, previews: true }, jwtPayload: '' };
}

interface Trial {
  readonly caller: Caller;
  readonly asked: Asked;
  readonly isOwn: boolean;
}

interface Tried {
  readonly outcome: PreviewOutcome;
  readonly previewed: Previewed;
}

async function tryOut(
  { handle }: HostedDatabase,
  { caller, asked: { what, rowsMax }, isOwn }: Trial,
): Promise<Tried | Reply> {
  const connection = temporaryConnection();
  const look = { rowsMax, ...(isOwn ? {} : { shownTo: ownerRights }) };
  if (what.kind === 'call') {
    const { reducer: name, args } = what;
    const fault = await procedureFault(handle, caller.rights, name);
    if (fault !== undefined) return text(400, fault);
    const call = { caller, connection, name, args, confirmed: true };
    const { outcome, work, description } = await previewWithJson(handle, call, look);
    return { outcome, previewed: { work, description } };
  }
  const parameters = what.parameters === null ? {} : { parameters: valuesOf(what.parameters) };
  const query = { caller, connection, sql: what.sql, ...parameters, confirmed: true };
  const work = { kind: 'query', query, isScript: true } as const;
  const description = await handle.describe();
  return { outcome: await handle.preview({ work, ...look }), previewed: { work, description } };
}

function valuesOf(parameters: JsonValue): ReturnType<typeof sqlParametersFromJson> {
  try {
    return sqlParametersFromJson(parameters);
  } catch (error) {
    if (error instanceof SqlParametersError) throw new HttpError(text(400, error.message));
    throw error;
  }
}

/** The answer to a call that could not even start; `undefined`: it could. */
async function callFault(
  { handle }: HostedDatabase,
  rights: Rights,
  { work }: Previewed,
  { result }: Preview,
): Promise<Reply | undefined> {
  if (result.kind !== 'callFailed' || work.kind !== 'call') return undefined;
  const { error } = result;
  const status = faultStatus(error.code);
  if (status === undefined) return undefined;
  const isUnknown = error.code === 'reducer.unknown';
  const hint = isUnknown ? await functionsHint(handle, rights, work.call.reducer) : undefined;
  return hintedText(status, callErrorText(error), hint);
}

function faultStatus(code: CallError['code']): number | undefined {
  switch (code) {
    case 'reducer.unknown':
      return 404;
    case 'reducer.notCallable':
    case 'arguments.invalid':
      return 400;
    case 'call.readOnly':
      return 403;
    case 'schema.changed':
      return 503;
    default:
      return undefined;
  }
}

interface Shown {
  readonly exchange: Exchange;
  readonly context: PreviewContext;
  readonly database: HostedDatabase;
  readonly caller: Caller;
  readonly previewed: Previewed;
  /** Whether it is the caller's own work, which can be applied. */
  readonly isOwn: boolean;
  readonly rowsMax: number;
}

/** Keeps a preview that can be applied; returns all that is shown of it. */
function shownJson(shown: Shown, preview: Preview): string {
  const { exchange, context, database, caller, previewed, isOwn } = shown;
  const ending = endingOf(previewed, preview);
  const isApplicable = ending.error === undefined && isOwn;
  const id = isApplicable
    ? context.previews.keep(ownerOf(exchange, database, caller), { ...previewed, key: preview.key })
    : undefined;
  const expires = Number(context.nowMicros() / 1_000n) + limits.previewMillisMax;
  const members = {
    id: JSON.stringify(id ?? null),
    expires_at: JSON.stringify(id === undefined ? null : new Date(expires).toISOString()),
    outcome: ending.error === undefined ? '"commit"' : '"refused"',
    ...ending,
    log: JSON.stringify(preview.lines.map(({ level, message }) => ({ level, message }))),
    dropped_lines: String(preview.droppedLines),
    tables: `[${preview.changes.map(tableJson).join(',')}]`,
    complete: String(preview.isComplete),
    offset: String(preview.offset),
  };
  const texts = Object.entries(members).filter(([, one]) => one !== undefined);
  return `{${texts.map(([name, one]) => `"${name}":${one}`).join(',')}}`;
}

/** How it would end, as JSON by member. */
interface Ending {
  readonly error?: string;
  readonly hint?: string;
  readonly position?: string;
  readonly value?: string;
  readonly returned?: string;
}

function endingOf(previewed: Previewed, preview: Preview): Ending {
  const { work } = previewed;
  const { result } = preview;
  const value = valueJsonOf(previewed, preview);
  switch (result.kind) {
    case 'returned':
      return value === undefined ? {} : { value };
    case 'callFailed': {
      const error = JSON.stringify(callErrorText(result.error));
      return value === undefined ? { error } : { error, value };
    }
    case 'wrote':
      return returnedJson(result);
    case 'queryFailed': {
      const { message, hint } = { hint: undefined, ...result.error };
      const sql = work.kind === 'query' ? work.query.sql : '';
      const position = positionIn(sql, result.error);
      return {
        error: JSON.stringify(message),
        ...(hint !== undefined && { hint: JSON.stringify(hint) }),
        ...(position !== undefined && { position: JSON.stringify(position) }),
      };
    }
    default:
      return unreachable(result);
  }
}

/** The rows of RETURNING. */
function returnedJson(result: Extract<Preview['result'], { kind: 'wrote' }>): Ending {
  const { columns } = result;
  if (columns.length === 0) return {};
  const fits = (_: string, count: number) => count < limits.agentPreviewRowsMax;
  const { rows } = sqlRows(result, firstRow, fits, 'plainCells');
  const names = JSON.stringify(columns.map(({ name }) => name ?? null));
  return { returned: `{"columns":${names},"rows":[${rows.join(',')}]}` };
}

function valueJsonOf({ work, description }: Previewed, preview: Preview): string | undefined {
  return work.kind === 'call' ? previewJson(description, work.call.reducer, preview) : undefined;
}

function tableJson(change: PreviewedTable): string {
  const { table, isEvent, columns, insertCount, deleteCount, updateCount } = change;
  const { inserted, deleted, updated, hiddenCount } = previewedRows(change);
  const pairs = updated.map(({ before, after }) => {
    return `{"before":${rowJson(before)},"after":${rowJson(after)}}`;
  });
  const counts = {
    inserted: insertCount - updateCount,
    deleted: deleteCount - updateCount,
    updated: updateCount,
  };
  const head = { table, event: isEvent, columns: columns.map(({ name }) => name ?? null) };
  return (
    `${JSON.stringify(head).slice(0, -1)},"inserted":[${inserted.map(rowJson).join(',')}],` +
    `"deleted":[${deleted.map(rowJson).join(',')}],"updated":[${pairs.join(',')}],` +
    `"counts":${JSON.stringify(counts)},"more":${hiddenCount > 0}}`
  );
}

function rowJson(cells: RowCells): string {
  return `[${cells.join(',')}]`;
}
