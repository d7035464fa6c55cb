/**
 * Decides whether a query would return a row, for queries of one table whose condition compares its
 * columns with literals or with each other:
 *
 * ```text
 * query      = SELECT ( "*" | table ".*" ) FROM table [ WHERE or ] [ ORDER BY … [ LIMIT n ] ]
 * or         = and { OR and }            and = not { AND not }
 * not        = NOT not | "(" or ")" | comparison
 * comparison = column ( "=" | "<>" | "!=" | "<" | "<=" | ">" | ">=" ) ( column | literal )
 * ```
 *
 * This covers queries that are built without joins, and the common ones written by hand.
 */
import { ConnectionId } from '../values/connection-id.ts';
import { Identity } from '../values/identity.ts';
import { specialKindOf } from '../values/special-types.ts';
import { Timestamp } from '../values/timestamp.ts';
import type { AlgebraicType } from '../values/type.ts';
import { Uuid } from '../values/uuid.ts';
import type { ClientSchema, Row } from './client-schema.ts';
import { nativeOrderOf } from './native-order.ts';
import { resultOrderOf } from './result-order.ts';

export interface OneTableQuery {
  /** The table's name on the wire. */
  readonly table: string;
  holds(row: Row): boolean;
}

type Holds = OneTableQuery['holds'];

/** Strings, dotted names, numbers, operators; any other character on its own. */
const shapes = /'(?:[^']|'')*'|(?:(?:"(?:[^"]|"")*"|[a-z_*]\w*)\.?)+|[:-]?\w[\w.]*|[<>!=]+|\S/gi;
const nameParts = /"(?:[^"]|"")*"|[^.]+/g;
const notUnderstood = new Error('another kind of query');

/** `undefined` for every other query. `sender` is the identity of this client. */
export function parseOneTable(
  sql: string,
  schema: ClientSchema,
  sender: unknown,
): OneTableQuery | undefined {
  const tokens = sql.match(shapes) ?? [];
  let at = 0;
  const next = () => tokens[at++] ?? '';
  const take = (word: string) => {
    const isHere = tokens[at]?.toUpperCase() === word;
    if (isHere) at += 1;
    return isHere;
  };
  const need = (isFulfilled: boolean) => {
    if (!isFulfilled) throw notUnderstood;
  };
  try {
    need(take('SELECT'));
    const [shown, , name] = [nameOf(next()), need(take('FROM')), nameOf(next())];
    const table = schema.tablesByName.get(name);
    if (table === undefined) return undefined;
    const { parts } = table;
    need(shown === '*' || shown === `${name}.*`);

    const columnOf = (text: string) => {
      const full = nameOf(text);
      return parts.columns.find((each) => full === each.name || full === `${name}.${each.name}`);
    };
    const comparison = (): Holds => {
      const left = columnOf(next());
      const operator = next().replace('!=', '<>');
      const text = next();
      if (left === undefined || !/^(?:[<>]?=|[<>]|<>)$/.test(operator)) throw notUnderstood;
      const right = columnOf(text);
      const value = text === ':sender' ? sender : literalOf(text, left.type);
      need(right === undefined ? value !== undefined : right.type.kind === left.type.kind);
      const order = nativeOrderOf(left.type, parts.typespace);
      return (row) => {
        const difference = order(row[left.key], right === undefined ? value : row[right.key]);
        return operator.includes(difference < 0 ? '<' : difference > 0 ? '>' : '=');
      };
    };
    const not = (): Holds => {
      if (take('NOT')) {
        const holds = not();
        return (row) => !holds(row);
      }
      if (!take('(')) return comparison();
      const holds = or();
      need(take(')'));
      return holds;
    };
    const and = (): Holds => {
      const all = [not()];
      while (take('AND')) all.push(not());
      return (row) => all.every((holds) => holds(row));
    };
    const or = (): Holds => {
      const some = [and()];
      while (take('OR')) some.push(and());
      return (row) => some.some((holds) => holds(row));
    };
    const holds = take('WHERE') ? or() : () => true;
    // A window shows the first of all rows, including predicted ones.
    if (take('ORDER')) need(resultOrderOf(sql, table) !== undefined);
    else if (!take(';')) need(at === tokens.length);
    return { table: name, holds };
  } catch (error) {
    if (error === notUnderstood) return undefined;
    throw error;
  }
}

/** A name without its quotes. */
function nameOf(text: string): string {
  const parts = text.match(nameParts) ?? [];
  return parts.map((part) => part.replace(/^"|"$/g, '').replaceAll('""', '"')).join('.');
}

/** The value of a literal compared with a column; `undefined` if it cannot be determined. */
function literalOf(literal: string, type: AlgebraicType): unknown {
  const text = literal.startsWith("'") ? literal.slice(1, -1).replaceAll("''", "'") : undefined;
  const isWhole = /^-?\d+$/.test(literal);
  switch (type.kind) {
    case 'string':
      return text;
    case 'bool':
      return /^(?:true|false)$/i.test(literal) ? /^t/i.test(literal) : undefined;
    case 'product':
      return specialOf(literal, text ?? '', type);
    default: {
      const [, letter, bits = ''] = /^([iuf])(\d+)$/.exec(type.kind) ?? [];
      if (letter === 'f') return /^-?[\d.]+$/.test(literal) ? floatOf(literal, bits) : undefined;
      if (letter === undefined || !isWhole) return undefined;
      return Number(bits) > 32 ? BigInt(literal) : Number(literal);
    }
  }
}

function floatOf(literal: string, bits: string): number {
  return bits === '32' ? Math.fround(Number(literal)) : Number(literal);
}

const ids = { identity: Identity, connectionId: ConnectionId, uuid: Uuid };

function specialOf(literal: string, text: string, type: AlgebraicType): unknown {
  const kind = specialKindOf(type) ?? '';
  if (kind in ids && /^0x/.test(literal)) return new ids[kind as keyof typeof ids](BigInt(literal));
  const [, moment, fraction = ''] = /^(\S+T[\d:]{8})(?:\.(\d{1,6}))?Z$/.exec(text) ?? [];
  if (kind !== 'timestamp' || moment === undefined) return undefined;
  return new Timestamp(BigInt(Date.parse(`${moment}Z`)) * 1_000n + BigInt(fraction.padEnd(6, '0')));
}
