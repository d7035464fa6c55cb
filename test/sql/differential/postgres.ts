import { PGlite } from '@electric-sql/pglite';
import { type Answer, type Cell, canonicalCell } from './answer.ts';
import { type Kind, literalText, postgresTypeOf, variants } from './kinds.ts';
import type { RandomSchema, RandomTable } from './random-schema.ts';

/** PostgreSQL in this process, asked for one statement after another. */
export class Postgres {
  readonly #db: PGlite;
  #tables: readonly RandomTable[] = [];

  private constructor(db: PGlite) {
    this.#db = db;
  }

  static async open(): Promise<Postgres> {
    const db = await PGlite.create();
    await db.exec(prelude);
    return new Postgres(db);
  }

  /** Tables of this schema in place of those before. */
  async load(schema: RandomSchema): Promise<void> {
    const names = this.#tables.map(({ name }) => name);
    const drop = names.length === 0 ? '' : `DROP TABLE ${names.join(', ')};`;
    await this.#db.exec(`${drop}${schema.map(tableText).join('')}`);
    this.#tables = schema;
  }

  /** The rows, each cell read as its kind says. */
  async run(sql: string, kinds: readonly Kind[]): Promise<Answer> {
    try {
      const answer = await this.#db.query<unknown[]>(sql, [], { rowMode: 'array', parsers });
      const { rows, affectedRows = 0, fields } = answer;
      if (fields.length === 0) return { kind: 'rows', rows: [[BigInt(affectedRows)]] };
      return {
        kind: 'rows',
        rows: rows.map((row) => row.map((cell, at) => cellOf(cell, kinds[at]))),
      };
    } catch (error) {
      return { kind: 'refused', reason: reasonOf(error), message: String(error) };
    }
  }

  close(): Promise<void> {
    return this.#db.close();
  }
}

const prelude = `
  SET TIME ZONE 'UTC';
  SET jit = off;
  CREATE FUNCTION fit(value numeric, low numeric, high numeric) RETURNS numeric
  LANGUAGE plpgsql IMMUTABLE STRICT AS $$
  BEGIN
    IF value < low OR value > high THEN
      RAISE EXCEPTION 'out of range' USING ERRCODE = 'numeric_value_out_of_range';
    END IF;
    RETURN value;
  END $$;
`;

/** All as text, since a moment has more digits than a Date. */
const parsers: Record<number, (text: string) => string> = {};
for (const type of [16, 17, 20, 21, 23, 25, 700, 701, 1184, 1700, 2950]) {
  parsers[type] = (text) => text;
}

function cellOf(cell: unknown, kind: Kind | undefined): Cell {
  if (kind === undefined) throw new Error('an answer with a column too many');
  if (cell === null) return null;
  const text = String(cell);
  switch (kind) {
    case 'bool':
      return text === 't' || text === 'true';
    case 'timestamp':
      return (
        BigInt(Math.floor(Date.parse(`${text.slice(0, 19).replace(' ', 'T')}Z`) / 1000)) *
          1_000_000n +
        fractionOf(text)
      );
    case 'bytes':
      return text.slice(2);
    default:
      return canonicalCell(kind, text);
  }
}

function fractionOf(text: string): bigint {
  const digits = /\.(\d+)/.exec(text)?.[1] ?? '';
  return BigInt(digits.padEnd(6, '0').slice(0, 6));
}

function reasonOf(error: unknown): Extract<Answer, { kind: 'refused' }>['reason'] {
  const code = (error as { code?: string }).code ?? '';
  if (code === '22012') return 'division';
  if (code === '22003') return 'overflow';
  return code === '23505' ? 'unique' : 'other';
}

function tableText({ name, columns, indexes, rows }: RandomTable): string {
  const list = columns.map(({ name: column, kind, isOption, fallback }) => {
    const names = variants.map((name) => `'${name}'`).join(', ');
    const check = kind === 'enum' ? ` CHECK (${column} IN (${names}))` : '';
    const instead =
      fallback === undefined ? '' : ` DEFAULT ${literalText(kind, fallback, 'postgres')}`;
    return `${column} ${postgresTypeOf(kind)}${instead}${isOption ? '' : ' NOT NULL'}${check}`;
  });
  const keys = indexes.filter((index) => index.startsWith('unique:'));
  const constraints = keys.map((index) => `UNIQUE (${index.split(':')[2]}) DEFERRABLE`);
  const values = rows.map((row) => {
    const cells = row.map((cell, at) => {
      const { kind } = columns[at] ?? { kind: 'bool' };
      return literalText(kind, cell, 'postgres');
    });
    return `(${cells.join(', ')})`;
  });
  const insert = values.length === 0 ? '' : `INSERT INTO ${name} VALUES ${values.join(', ')};`;
  return `CREATE TABLE ${name} (${[...list, ...constraints].join(', ')});${insert}`;
}
