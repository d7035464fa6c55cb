import { send } from './http.ts';
import { isObject, type Json, parseJson, textOf } from './json.ts';

/** A line of the audit log. */
export interface AuditEntry {
  readonly time: string;
  readonly action: string;
  readonly outcome: string;
  readonly by: string | null;
  readonly from: string;
  /** The identity of the database. */
  readonly database: string | null;
  /** Everything else that was noted, such as a role. */
  readonly detail: string;
}

const known = new Set(['time', 'action', 'outcome', 'by', 'for', 'from', 'database']);

/** `GET /v1/audit`, for operators, the newest first. */
export async function readAudit(
  count: number,
  signal?: AbortSignal,
): Promise<readonly AuditEntry[]> {
  const options = signal === undefined ? {} : { signal };
  const answer = await send(`/v1/audit?num_lines=${count}`, options);
  const lines = (await answer.text()).split('\n').filter((line) => line !== '');
  return lines.map(entryOf).reverse();
}

function entryOf(line: string): AuditEntry {
  const parsed: Json = parseJson(line);
  const body = isObject(parsed) ? parsed : {};
  const rest = Object.entries(body).filter(([name]) => !known.has(name));
  return {
    time: textOf(body.time),
    action: textOf(body.action),
    outcome: textOf(body.outcome),
    by: body.by === undefined ? null : textOf(body.by),
    from: textOf(body.from),
    database: body.database === undefined ? null : textOf(body.database),
    detail: rest.map(([name, value]) => `${name}=${shown(value)}`).join(' '),
  };
}

function shown(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
