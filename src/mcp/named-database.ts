import { type JsonValue, member } from '../values/json.ts';
import { rowsArguments } from './read-rows.ts';
import { addressOf } from './resources/address.ts';

/**
 * The database that a message to the server of a whole host is about, by the arguments of its tool
 * or prompt, or the address of its resource. Of a batch, that of the first message that names one.
 */
export function namedDatabase(body: JsonValue): string | undefined {
  const messages = Array.isArray(body) ? body : [body];
  for (const message of messages) {
    const found = namedIn(member(message, 'params'));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Whether a message says from which rows it is to be answered; those of a batch do not. */
export function namesRows(body: JsonValue): boolean {
  const name = member(member(body, 'params'), 'name');
  const args = member(member(body, 'params'), 'arguments');
  if (name !== 'sql' && name !== 'get_schema') return false;
  return rowsArguments.some((argument) => (member(args, argument) ?? undefined) !== undefined);
}

function namedIn(params: JsonValue | undefined): string | undefined {
  const given = member(member(params, 'arguments'), 'database');
  if (typeof given === 'string') return given;
  const uri = member(params, 'uri');
  const address = typeof uri === 'string' ? addressOf(uri) : undefined;
  return address !== undefined && 'database' in address ? address.database : undefined;
}
