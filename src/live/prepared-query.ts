import { present, unreachable } from '../assert.ts';
import type { TableSpec } from '../schema/catalog.ts';
import { type TableId, tableId, type ViewId } from '../schema/ids.ts';
import { unwatchedTableIds } from '../schema/system-tables.ts';
import type { OutputColumn, TypedBlock, TypedRead } from '../sql/check/typed.ts';
import { visitQuery } from '../sql/check/typed-expression.ts';
import { layoutOfRows, namedTypeOf } from '../sql/expressions/row-layout.ts';
import { invalid } from '../sql/failure.ts';
import { hasRefs } from '../sql/functions/canonical.ts';
import type { ReadPlan } from '../sql/plan/plan.ts';
import { planReads } from '../sql/planning.ts';
import type { Rights } from '../sql/rights.ts';
import type { SqlTables } from '../sql/schema.ts';
import {
  callerParameters,
  fullRead,
  type SubscriptionReads,
  subscriptionReads,
} from '../sql/watched-query.ts';
import type { RowShape } from '../store/row-shape.ts';
import type { CallerIdentity } from '../values/identity-roles.ts';
import { namedTypesToJson } from '../values/type-codec.ts';
import { callerJoinOf } from './caller-join.ts';
import { LiveFragment } from './fragment.ts';
import { IncrementalOperator } from './incremental-operator.ts';
import { type IncrementalShape, incrementalShape } from './incremental-shape.ts';
import { KeptStages } from './kept-stages.ts';
import type { LiveOperator } from './live-operator.ts';
import { computedIds, type LiveSchema } from './live-schema.ts';
import type { QueryDialect } from './query-dialect.ts';
import { RerunOperator } from './rerun-operator.ts';
import { UnionRows } from './union-rows.ts';

/** The name under which rows are sent. */
export interface RowsName {
  /** Of the table, for its whole rows; else the JSON of the row type, which begins with `{`. */
  readonly name: string;
  /** Zero if no such table exists. */
  readonly id: TableId;
  readonly isEvent: boolean;
}

/** How a query is kept up to date. */
export type Form =
  /** Each of the reads is a fragment. `hasSameEvents`: see `IncrementalParts`. */
  | { readonly kind: 'fragments'; readonly hasSameEvents: boolean }
  /** Each of these is a fragment; the rows of all of them, each once, are kept. */
  | { readonly kind: 'union'; readonly fragments: readonly TypedRead[] }
  | { readonly kind: 'incremental'; readonly shape: IncrementalShape }
  | { readonly kind: 'rerun'; readonly reason: string };

/** A query checked for all callers with the same rights. */
export class PreparedQuery {
  /** Trimmed. */
  readonly sql: string;
  readonly rights: Rights;
  readonly schema: LiveSchema;
  readonly dialect: QueryDialect;
  /** The rows of the query are those of all its reads. */
  readonly reads: readonly TypedRead[];
  readonly table: RowsName;
  readonly shape: RowShape;
  readonly form: Form;
  /** By read: what the fragments of all callers share. */
  readonly #callerJoins = new Map<TypedRead, ReturnType<typeof callerJoinOf>>();

  constructor(asked: UncheckedQuery, dialect: QueryDialect, checked: SubscriptionReads) {
    const { sql, rights, schema } = asked;
    const { reads } = checked;
    const columns = present(reads[0], 'a read').query.columns;
    this.sql = sql;
    this.rights = rights;
    this.schema = schema;
    this.dialect = dialect;
    this.reads = reads;
    this.table = nameOfRows(reads, columns);
    this.shape = layoutOfRows(columns, schema.types).shape;
    this.form = dialect === 'full' ? formOf(reads) : formOfFragments(checked);
  }

  /** Ids of the views that it reads. */
  get views(): readonly ViewId[] {
    return [...new Set(this.reads.flatMap(({ views }) => views))];
  }

  /** Names of the tables and views that it reads. */
  get tableNames(): readonly string[] {
    return tablesOf(this.reads).map(({ name }) => name);
  }

  /** Ids of the tables and views that it reads. */
  get tableIds(): readonly TableId[] {
    return tablesOf(this.reads).map(({ id }) => id);
  }

  /** Whether callers with the same rights may see different rows. */
  get isOfCaller(): boolean {
    const hasSender = this.reads.some(({ parameters }) => parameters.length > 0);
    return hasSender || this.views.some((id) => this.schema.isOfCaller(id));
  }

  /** Why it is run again for each commit that may concern it; `undefined`: it is not. */
  get rerunReason(): string | undefined {
    return this.form.kind === 'rerun' ? this.form.reason : undefined;
  }

  /** Whether the operator keeps the answer, so that the rows are read from it. */
  get isKept(): boolean {
    const { form } = this;
    if (form.kind !== 'incremental') return form.kind !== 'fragments';
    return form.shape.groups !== undefined || form.shape.window !== undefined;
  }

  /** The operator is not opened yet. */
  operatorFor(identity: CallerIdentity): LiveOperator {
    const { form } = this;
    switch (form.kind) {
      case 'rerun':
        return new RerunOperator(this, identity, this.#sources(identity));
      case 'fragments':
        return new IncrementalOperator(
          this.reads.map((read) => this.fragmentOf(read, identity)),
          form,
        );
      case 'union':
        return new IncrementalOperator(
          form.fragments.map((read) => this.fragmentOf(read, identity)),
          { stages: new UnionRows(this, form.fragments, identity) },
        );
      case 'incremental': {
        const { base } = form.shape;
        const scope = { schema: this.schema, parameters: this.parametersOf(base, identity) };
        const stages = this.isKept ? new KeptStages(form.shape, scope, this.rights) : undefined;
        return new IncrementalOperator([this.fragmentOf(base, identity)], { stages });
      }
      default:
        return unreachable(form);
    }
  }

  /** Plans the reads for the current sizes of the tables. */
  plans(tables: SqlTables): readonly ReadPlan[] {
    const { schema, rights, reads } = this;
    return planReads(reads, schema.types, { schema: schema.sql, rights, tables });
  }

  /** Values of the parameters of one of the reads, for a caller. */
  parametersOf(
    read: Pick<TypedRead, 'parameters'>,
    identity: CallerIdentity,
  ): readonly (Uint8Array | undefined)[] {
    return callerParameters(read, identity, this.schema.types);
  }

  /** The part of a read that changed rows are followed through. */
  fragmentOf(read: TypedRead, identity: CallerIdentity): LiveFragment {
    const parameters = this.parametersOf(read, identity);
    const { schema } = this;
    return new LiveFragment(read, {
      ...{ schema, identity, parameters },
      callerJoin: this.callerJoinOf(read).join,
    });
  }

  /** What the fragments of a read have in common for all callers. */
  callerJoinOf(read: TypedRead): ReturnType<typeof callerJoinOf> {
    const known = this.#callerJoins.get(read);
    const made = known ?? callerJoinOf(read, this.schema);
    if (known === undefined) this.#callerJoins.set(read, made);
    return made;
  }

  #sources(identity: CallerIdentity) {
    return tablesOf(this.reads).map(({ id }) => this.schema.sourceOf(id, identity));
  }
}

/** A query text, the rights and the schema to check it with. */
export interface UncheckedQuery {
  readonly sql: string;
  readonly rights: Rights;
  readonly schema: LiveSchema;
}

/** `joinRules` is true for a query to be watched. Throws `SqlFailure`. */
export function prepareSubscription(asked: UncheckedQuery, joinRules: boolean): PreparedQuery {
  const { sql, rights, schema } = asked;
  const checked = subscriptionReads(sql, { schema: schema.sql, rights }, joinRules);
  if (joinRules) requireCommits(checked.reads);
  return new PreparedQuery(asked, 'subscription', checked);
}

/** `isWatched` is true for a query to be watched. Throws `SqlFailure`. */
export function prepareFull(asked: UncheckedQuery, isWatched: boolean): PreparedQuery {
  const { sql, rights, schema } = asked;
  const typed = fullRead(sql, { schema: schema.sql, rights });
  requireNameable(typed);
  if (isWatched) requireWatchable(typed);
  return new PreparedQuery(asked, 'full', { reads: [typed], isOverlapping: false });
}

function formOf(reads: readonly TypedRead[]): Form {
  const shape = incrementalShape(present(reads[0], 'a read'));
  if ('reason' in shape) return { kind: 'rerun', reason: shape.reason };
  return { kind: 'incremental', shape };
}

/**
 * Rows of computed tables are in no change set. A read that is more than a block of plain tables is
 * not a fragment: it has filters that let the same rows through.
 */
function formOfFragments({ reads, isOverlapping: hasSameEvents, parts }: SubscriptionReads): Form {
  const computed = tablesOf(reads).find(({ id }) => computedIds.has(id));
  if (computed !== undefined) {
    return { kind: 'rerun', reason: `rows of ${computed.name} are computed` };
  }
  if (parts !== undefined) return { kind: 'union', fragments: parts };
  const isPlain = reads.every(({ query: { body } }) => {
    return body.kind === 'block' && body.relations.every(({ source }) => source.kind === 'table');
  });
  if (isPlain) return { kind: 'fragments', hasSameEvents };
  return {
    kind: 'rerun',
    reason: 'a table has several row filters, of which one joins',
  };
}

/** Every table and view that is read, at any depth. */
export function tablesOf(reads: readonly TypedRead[]): readonly TableSpec[] {
  const tables = new Set<TableSpec>();
  for (const { query } of reads) {
    const note = ({ source }: TypedBlock['relations'][number]): boolean => {
      if (source.kind === 'table') tables.add(source.table);
      return true;
    };
    visitQuery(
      query,
      (inner) => {
        if (inner.kind === 'subquery') visitQuery(inner.query, () => undefined, note);
      },
      note,
    );
  }
  return [...tables];
}

function nameOfRows(reads: readonly TypedRead[], columns: readonly OutputColumn[]): RowsName {
  const table = wholeTable(present(reads[0], 'a read'));
  if (table !== undefined) return table;
  return { name: namedTypesToJson(columns.map(namedTypeOf)), id: tableId(0), isEvent: false };
}

/** The table whose whole rows a read returns, under the names of its columns. */
function wholeTable({ query: { body, columns } }: TypedRead): TableSpec | undefined {
  if (body.kind !== 'block' || body.grouping !== undefined) return undefined;
  const [first] = body.items;
  const slot = first?.kind === 'column' ? first.slot : body.relations[0]?.slot;
  const source = body.relations.find((relation) => relation.slot === slot)?.source;
  const table = source?.kind === 'table' ? source.table : source?.secured;
  if (table === undefined || table.columns.length !== body.items.length) return undefined;
  const isWhole = body.items.every((item, at) => {
    const isColumn = item.kind === 'column' && item.slot === slot && item.column === at;
    const shown = columns[at];
    return isColumn && shown?.isNullable === false && shown.name === table.columns[at]?.name;
  });
  return isWhole ? table : undefined;
}

/** The JSON of a type does not describe what its refs stand for. */
function requireNameable(read: TypedRead): void {
  const hasNoRefs = read.query.columns.every(({ type }) => !hasRefs(type));
  if (hasNoRefs || wholeTable(read) !== undefined) return;
  throw invalid('Columns of recursive types can only be read as part of whole rows');
}

/** A watched query reads nothing that changes without a commit. */
function requireCommits(reads: readonly TypedRead[]): void {
  const changing = tablesOf(reads).find(({ id }) => unwatchedTableIds.has(id));
  if (changing === undefined) return;
  throw invalid(`Rows of ${changing.name} cannot be watched: they change without a commit`);
}

function requireWatchable(read: TypedRead): void {
  visitQuery(read.query, (inner) => {
    if (inner.kind !== 'call' || inner.function.name !== 'now') return;
    throw invalid('A watched query cannot use now(): its rows would change without a commit');
  });
  requireCommits([read]);
  const event = tablesOf([read]).find(({ isEvent }) => isEvent);
  if (event === undefined) return;
  throw invalid(
    `Rows of the event table \`${event.name}\` can only be watched as a whole: ` +
      `SELECT * FROM ${event.name}, with WHERE or a join`,
  );
}
