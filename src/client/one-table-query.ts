/**
 * Tells of a row whether a query would give it, for queries of one table whose condition compares
 * its columns with literals or with each other:
 *
 * ```text
 * query     = SELECT ( "*" | name ".*" ) FROM name [ WHERE or ]
 * or        = and { OR and }            and = not { AND not }
 * not       = NOT not | "(" or ")" | operand ( "=" | "<>" | "!=" | "<" | "<=" | ">" | ">=" ) operand
 * operand   = [ name "." ] column | literal | ":sender"
 * ```
 */
import { ConnectionId } from '../values/connection-id.ts';
import { Identity } from '../values/identity.ts';
import { specialKindOf } from '../values/special-types.ts';
import { Timestamp } from '../values/timestamp.ts';
import type { AlgebraicType } from '../values/type.ts';
import { Uuid } from '../values/uuid.ts';
import type { ClientColumn, ClientSchema, ClientTable, Row } from './client-schema.ts';
import { nativeOrderOf } from './native-order.ts';

export interface OneTableQuery {
  /** By its name on the wire. */
  readonly table: string;
  holds(row: Row): boolean;
}

type Holds = OneTableQuery['holds'];

/** A name is quoted or not, a word may be one of SQL's own. */
interface Token {
  readonly kind: 'name' | 'word' | 'string' | 'hex' | 'number' | 'symbol' | 'end';
  readonly text: string;
}

type Operand = ClientColumn | Token;

/** `undefined` for every other query. `sender` is the identity of this client. */
export function parseOneTable(
  sql: string,
  schema: ClientSchema,
  sender: unknown,
): OneTableQuery | undefined {
  try {
    return new Parser(tokensOf(sql), schema, sender).query();
  } catch (error) {
    if (error instanceof NotUnderstood) return undefined;
    throw error;
  }
}

class NotUnderstood extends Error {}

const shapes =
  /\s+|--[^\n]*|"((?:[^"]|"")*)"|'((?:[^']|'')*)'|0x([\da-f]+)|(-?\d[\d.]*(?:e[+-]?\d+)?)|([a-z_]\w*)|(:sender\b|<=|>=|<>|!=|.)/gisy;

function tokensOf(sql: string): Token[] {
  const tokens = [...sql.matchAll(shapes)].flatMap(([, ...groups]): Token[] => {
    const at = groups.findIndex((group) => group !== undefined);
    const kind = (['name', 'string', 'hex', 'number', 'word', 'symbol'] as const)[at];
    const text = groups[at] ?? '';
    if (kind === undefined) return [];
    if (kind === 'name') return [{ kind, text: text.replaceAll('""', '"') }];
    return [{ kind, text: kind === 'string' ? text.replaceAll("''", "'") : text }];
  });
  return [...tokens, { kind: 'end', text: '' }];
}

class Parser {
  readonly #tokens: readonly Token[];
  readonly #schema: ClientSchema;
  readonly #sender: unknown;
  #at = 0;
  #table: ClientTable | undefined;

  constructor(tokens: readonly Token[], schema: ClientSchema, sender: unknown) {
    this.#tokens = tokens;
    this.#schema = schema;
    this.#sender = sender;
  }

  query(): OneTableQuery {
    this.#expect('SELECT');
    const of = this.#next().text === '*' ? undefined : this.#dotted(this.#at - 1);
    this.#expect('FROM');
    const table = this.#dotted(this.#at);
    this.#table = this.#schema.tablesByName.get(table);
    if (this.#table === undefined || (of !== undefined && of !== `${table}.*`)) {
      throw new NotUnderstood();
    }
    const holds = this.#take('WHERE') ? this.#or() : () => true;
    this.#take(';');
    if (this.#next().kind !== 'end') throw new NotUnderstood();
    return { table, holds };
  }

  #or(): Holds {
    const parts = [this.#and()];
    while (this.#take('OR')) parts.push(this.#and());
    return (row) => parts.some((holds) => holds(row));
  }

  #and(): Holds {
    const parts = [this.#not()];
    while (this.#take('AND')) parts.push(this.#not());
    return (row) => parts.every((holds) => holds(row));
  }

  #not(): Holds {
    if (this.#take('NOT')) {
      const holds = this.#not();
      return (row) => !holds(row);
    }
    if (!this.#take('(')) return this.#comparison();
    const holds = this.#or();
    this.#expect(')');
    return holds;
  }

  #comparison(): Holds {
    const left = this.#operand();
    const judge = judges[this.#next().text];
    const right = this.#operand();
    const column = 'key' in left ? left : 'key' in right ? right : undefined;
    if (judge === undefined || column === undefined) throw new NotUnderstood();
    const order = nativeOrderOf(column.type, this.#table?.parts.typespace ?? { types: [] });
    const [a, b] = [left, right].map((operand) => this.#reader(operand, column.type));
    return (row) => judge(order(a?.(row), b?.(row)));
  }

  #reader(operand: Operand, type: AlgebraicType): (row: Row) => unknown {
    if ('key' in operand) {
      if (operand.type.kind !== type.kind) throw new NotUnderstood();
      return (row) => row[operand.key];
    }
    const value = operand.text === ':sender' ? this.#sender : literalOf(operand, type);
    if (value === undefined) throw new NotUnderstood();
    return () => value;
  }

  #operand(): Operand {
    const token = this.#next();
    if (token.kind !== 'name' && token.kind !== 'word') return token;
    if (/^(?:true|false)$/i.test(token.text) && token.kind === 'word') return token;
    const path = this.#dotted(this.#at - 1).split('.');
    const name = path.pop();
    const column = this.#table?.parts.columns.find((each) => each.name === name);
    const isOther = path.length > 0 && path.join('.') !== this.#table?.parts.name;
    if (column === undefined || isOther) throw new NotUnderstood();
    return column;
  }

  /** `a.b.c`, from the token at `from` on. */
  #dotted(from: number): string {
    this.#at = from;
    const parts: string[] = [];
    do {
      const { kind, text } = this.#next();
      if (kind !== 'name' && kind !== 'word' && text !== '*') throw new NotUnderstood();
      parts.push(text);
    } while (this.#take('.'));
    return parts.join('.');
  }

  #expect(text: string): void {
    if (!this.#take(text)) throw new NotUnderstood();
  }

  #take(text: string): boolean {
    const token = this.#tokens[this.#at];
    const isHere = /word|symbol/.test(token?.kind ?? '') && token?.text.toUpperCase() === text;
    if (isHere) this.#at += 1;
    return isHere;
  }

  #next(): Token {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw new NotUnderstood();
    this.#at += 1;
    return token;
  }
}

/** By what the order of two values says. */
const judges: Readonly<Record<string, (order: number) => boolean>> = {
  '=': (order) => order === 0,
  '<>': (order) => order !== 0,
  '!=': (order) => order !== 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
};

/** The value of a literal in the place of a column; `undefined` if it cannot be told. */
function literalOf({ kind, text }: Token, type: AlgebraicType): unknown {
  switch (type.kind) {
    case 'string':
      return kind === 'string' ? text : undefined;
    case 'bool':
      return kind === 'word' ? text.toLowerCase() === 'true' : undefined;
    case 'product':
      return specialOf(kind, text, type);
    default: {
      const [, letter, bits] = /^([iuf])(\d+)$/.exec(type.kind) ?? [];
      if (bits === undefined || !/^-?\d+(?:\.\d+)?$/.test(text)) return undefined;
      if (letter === 'f') return bits === '32' ? Math.fround(Number(text)) : Number(text);
      if (Number(bits) <= 32) return Number(text);
      return text.includes('.') ? undefined : BigInt(text);
    }
  }
}

function specialOf(kind: Token['kind'], text: string, type: AlgebraicType): unknown {
  switch (specialKindOf(type)) {
    case 'identity':
      return kind === 'hex' ? new Identity(BigInt(`0x${text}`)) : undefined;
    case 'connectionId':
      return kind === 'hex' ? new ConnectionId(BigInt(`0x${text}`)) : undefined;
    case 'uuid':
      return kind === 'hex' ? new Uuid(BigInt(`0x${text}`)) : undefined;
    case 'timestamp': {
      const [, moment, fraction = ''] = /^(\S+T[\d:]{8})(?:\.(\d{1,6}))?Z$/.exec(text) ?? [];
      const millis = Date.parse(`${moment}Z`);
      if (Number.isNaN(millis)) return undefined;
      return new Timestamp(BigInt(millis) * 1_000n + BigInt(fraction.padEnd(6, '0')));
    }
    default:
      return undefined;
  }
}
