import type { Answer, Cell } from './answer.ts';
import type { Kind } from './kinds.ts';
import type { RandomColumn, RandomSchema } from './random-schema.ts';
import { columnAtom } from './scope.ts';
import {
  type Expression,
  expression,
  type Item,
  isQuery,
  literal,
  type Query,
  type Select,
  type Statement,
} from './tree.ts';

type Refused = Extract<Answer, { kind: 'refused' }>;

/** Both engines, over the same rows. */
export interface Engines {
  ours(statement: Statement, kinds: readonly Kind[]): Answer;
  theirs(statement: Statement, kinds: readonly Kind[]): Promise<Answer>;
}

export interface Refusals {
  readonly ours: Refused;
  readonly theirs: Refused;
}

/**
 * Whether a statement can fail in both of these ways. In which order its rows are looked at, and the
 * items of one row, is not defined: so the first error may be either, if some row really raises it
 * when it is alone. Each engine must find such a row for the error of the other.
 */
export async function areErrorsOfRows(
  statement: Statement,
  schema: RandomSchema,
  { engines, refusals }: { readonly engines: Engines; readonly refusals: Refusals },
): Promise<boolean> {
  const isOfRow = ({ reason }: Refused) => reason === 'division' || reason === 'overflow';
  if (!isOfRow(refusals.ours) || !isOfRow(refusals.theirs)) return false;
  if (!isQuery(statement) || statement.body.kind !== 'select') return false;
  const { body: select } = statement;
  const columns = columnsOf(select, schema);
  if (columns === undefined) return false;
  const rows = await engines.theirs(queryOf({ ...select, ...listOf(columns) }), kindsOf(columns));
  if (rows.kind === 'refused') return false;
  const alone = rows.rows.map(
    (row): Select => ({ ...select, where: whereRow(select, columns, row) }),
  );
  const find = async (reason: Refused['reason'], ask: Engines['theirs']): Promise<boolean> => {
    for (const candidate of [...alone, ...alone.flatMap((one) => [...itemsAlone(one)])]) {
      const kinds = candidate.items.map((item) => item.expression.kind);
      const answer = await ask(queryOf(candidate), kinds);
      if (answer.kind === 'refused' && answer.reason === reason) return true;
    }
    return false;
  };
  const ours = async (query: Statement, kinds: readonly Kind[]) => engines.ours(query, kinds);
  return (
    (await find(refusals.ours.reason, engines.theirs)) && (await find(refusals.theirs.reason, ours))
  );
}

/** The select with one of its items, and with one of its keys as the only item. */
function* itemsAlone(select: Select): Generator<Select> {
  for (const item of select.items) {
    yield { ...select, items: [item] };
    yield { ...select, items: [item], groupBy: [] };
  }
  for (const key of select.groupBy) {
    yield { ...select, items: [{ expression: key, alias: 'x' }], groupBy: [] };
  }
}

interface Named {
  readonly column: RandomColumn;
  readonly atom: Expression;
}

/** The columns of all relations; `undefined` unless all of them are tables. */
function columnsOf(select: Select, schema: RandomSchema): readonly Named[] | undefined {
  const found: Named[] = [];
  for (const { relation, alias } of select.from) {
    const table = schema.find(({ name }) => name === relation);
    if (table === undefined) return undefined;
    for (const column of table.columns) {
      const { isOption } = column;
      const given = { ...column, isNullable: isOption, isStable: true, isDyadic: true };
      found.push({ column, atom: columnAtom(given, `${alias}.`) });
    }
  }
  return found;
}

function kindsOf(columns: readonly Named[]): readonly Kind[] {
  return columns.map(({ column }) => column.kind);
}

/** Each row in full, without what the statement makes of it. */
function listOf(columns: readonly Named[]): Partial<Select> {
  const items = columns.map(({ atom }, at): Item => ({ expression: atom, alias: `x${at}` }));
  return { items, star: undefined, isDistinct: true, groupBy: [], having: undefined };
}

/** The condition of the select, for this row alone. */
function whereRow(select: Select, columns: readonly Named[], row: readonly Cell[]): Expression {
  const terms = columns.map(({ column, atom }, at) => {
    const cell = row[at] ?? null;
    if (cell === null) return expression('bool', [atom, ' IS NULL']);
    const value = literal(column.kind, cell);
    return expression('bool', [atom, ' IS NOT DISTINCT FROM ', value]);
  });
  const all = select.where === undefined ? terms : [select.where, ...terms];
  return expression(
    'bool',
    all.flatMap((term, at) => (at === 0 ? [term] : [' AND ', term])),
  );
}

function queryOf(body: Select): Query {
  const nothing = { commonTables: [], orderBy: [], limit: undefined, offset: undefined };
  return { kind: 'query', body, ...nothing };
}
