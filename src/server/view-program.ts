import { isTypedQuery, queriesOver } from '../declare/query.ts';
import { viewResultTags } from '../protocol/module-abi.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import { Identity } from '../values/identity.ts';
import type { Typespace } from '../values/type.ts';
import type { Encode } from './bridge.ts';
import type { ModulePlan, PlannedView } from './describe.ts';
import { lazyEncoder } from './table-access.ts';

/** The result of a view hook: a tag, then an array of rows, or the text of a query. */
export interface ViewResult {
  readonly data: Uint8Array;
}

export interface RunnableView {
  readonly isAnonymous: boolean;
  /** `sender` is `undefined` for an anonymous view. */
  evaluate(sender: bigint | undefined): ViewResult;
}

/**
 * The views of one module, in the order of their numbers. `db` returns their table handles, once
 * the module's scope is complete.
 */
export function makeViews(plan: ModulePlan, namespace: string, db: () => unknown): RunnableView[] {
  const { typespace } = plan.registry;
  const tables = plan.tables.map(({ key, table }) => [key, table] as const);
  const from = queriesOver(Object.fromEntries(tables), namespace);
  return plan.views.map((view) => {
    const encode = resultEncoder(view, typespace);
    return {
      isAnonymous: view.isAnonymous,
      evaluate(sender) {
        const ctx =
          sender === void 0
            ? { __proto__: viewContext, db: db(), from }
            : { __proto__: viewContext, sender: new Identity(sender), db: db(), from };
        return { data: encode(view.handler(ctx, {})) };
      },
    };
  });
}

/** A view depends on rows alone, and is evaluated again when they change. */
const viewContext = Object.freeze({
  get env(): never {
    throw new TypeError('views cannot read `ctx.env`: they depend on rows alone');
  },
});

/** Encodes the result of a view's body. Throws a `TypeError` that says what it should be. */
function resultEncoder(
  { name, shape, rowType }: PlannedView,
  typespace: Typespace,
): (result: unknown) => Uint8Array {
  const encodeRow = lazyEncoder(rowType, typespace, `view ${name}`);
  return (result) => {
    if (isTypedQuery(result)) {
      if (shape === 'rows') return encodeQuery(result.toSql());
      throw new TypeError(
        `view ${name} returned a query, but is declared with t.option: declare t.array for queries`,
      );
    }
    if (shape === 'option') {
      return encodeRows(isNothing(result) ? [] : [aRow(name, result)], encodeRow);
    }
    if (isArray(result)) return encodeRows(result, encodeRow);
    throw new TypeError(`view ${name} must return an array or a query, ${insteadOf(result)}`);
  };
}

function encodeQuery(sql: string): Uint8Array {
  const writer = new BinaryWriter(64 + sql.length);
  writer.u8(viewResultTags.sql);
  writer.string(sql);
  return writer.finish();
}

function encodeRows(rows: readonly unknown[], encodeRow: Encode): Uint8Array {
  const writer = new BinaryWriter(256);
  const { length } = rows;
  writer.u8(viewResultTags.rows);
  writer.u32(length);
  for (let index = 0; index < length; index += 1) encodeRow(writer, rows[index]);
  return writer.finish();
}

/** Values commonly mistaken for an optional row get an error text of their own. */
function aRow(name: string, result: unknown): unknown {
  if (typeof result === 'object' && !isArray(result) && !isIterator(result)) return result;
  const wanted = 'must return one row, undefined or null';
  throw new TypeError(`view ${name} ${wanted}, ${insteadOf(result)}`);
}

function insteadOf(result: unknown): string {
  if (isNothing(result)) return `but returned ${result}`;
  if (isArray(result)) return 'but returned an array: declare t.array(row) for several rows';
  if (isIterator(result)) return 'but returned an iterator: spread it, as in [...rows]';
  if (isPromise(result)) return 'but returned a promise: views are synchronous';
  if (typeof result !== 'object') return `but returned a ${typeof result}`;
  return 'but returned an object: put a single row into [ ], or declare t.option(row)';
}

function isNothing(result: unknown): result is undefined | null {
  return result === void 0 || result === null;
}

function isIterator(result: unknown): boolean {
  return typeof result === 'object' && result !== null && Symbol.iterator in result;
}

function isPromise(result: unknown): boolean {
  if (typeof result !== 'object' || result === null || !('then' in result)) return false;
  return typeof result.then === 'function';
}

// In the sandbox a global is looked up through a proxy; hot code reads this instead.
const { isArray } = Array;
