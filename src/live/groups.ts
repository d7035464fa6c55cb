import { present } from '../assert.ts';
import type { OutputColumn, TypedExpression } from '../sql/check/typed.ts';
import type { Evaluator, Test } from '../sql/expressions/frame.ts';
import { RowCompiler, type RowMaker } from '../sql/expressions/row-compiler.ts';
import { layoutOfRows } from '../sql/expressions/row-layout.ts';
import type { KeyPart } from '../sql/functions/canonical.ts';
import type { QueryValue } from '../sql/functions/function.ts';
import { frameOf, type LiveFrame } from './fragment.ts';
import { ExtremePart, type GroupPart, partMakerOf } from './group-parts.ts';
import type { GroupsShape } from './incremental-shape.ts';
import type { LiveSchema } from './live-schema.ts';
import { RowBag } from './row-bag.ts';
import { type RowSet, RowSetBuilder } from './row-set.ts';
import { eachPicked, type SourceChanges } from './source-changes.ts';
import type { RowFeed } from './window.ts';

interface Group {
  readonly key: KeyPart;
  readonly keys: readonly QueryValue[];
  /** Number of base rows in the group. */
  count: number;
  /** `undefined`: the aggregate counts rows. */
  readonly parts: readonly (GroupPart | undefined)[];
  /** The row that the group produces; `undefined`: none, as HAVING decides. */
  row: Uint8Array | undefined;
  /** Memory when it was last measured. */
  bytes: number;
}

/**
 * GROUP BY, aggregates and HAVING, kept up to date: each row of the base is added to the state of
 * its group or removed from it, and the rows of the touched groups are compared.
 *
 * MIN and MAX know some of the values that come next. When a group has lost all that it knew, the
 * rows of the base must be shown again (`isShort`, `refill`).
 */
export class Groups {
  readonly #frame: LiveFrame;
  readonly #keyOf: ((frame: LiveFrame) => KeyPart) | undefined;
  readonly #keys: readonly Evaluator[];
  readonly #aggregates: readonly GroupedAggregate[];
  readonly #firstValue: number;
  readonly #having: Test | undefined;
  readonly #outputOf: RowMaker;
  readonly #groups = new Map<KeyPart, Group>();
  readonly #touched = new Set<Group>();
  #bytes = 0;

  constructor(
    shape: GroupsShape,
    schema: LiveSchema,
    parameters: readonly (Uint8Array | undefined)[],
  ) {
    const { grouping, baseColumns, having, items, columns } = shape;
    const layout = layoutOfRows(baseColumns, schema.types);
    const compiler = new RowCompiler(schema.types, () => layout);
    const column = (at: number): TypedExpression => columnAt(baseColumns, at);
    const keys = grouping.keys.map((_, at) => column(at));
    this.#frame = frameOf(parameters);
    this.#keyOf = keys.length === 0 ? undefined : compiler.mapKey(keys);
    this.#keys = keys.map((key) => compiler.value(key));
    let next = keys.length;
    this.#aggregates = grouping.aggregates.map((aggregate) => {
      const hasArgument = aggregate.argument !== undefined;
      const value = hasArgument ? compiler.value(column(next++)) : undefined;
      return { value, make: partMakerOf(aggregate, schema.types) };
    });
    this.#firstValue = grouping.firstValue;
    this.#having = having && compiler.conditions([having]);
    this.#outputOf = compiler.row(items, columns);
    // Without keys there is one group, even without rows.
    if (this.#keyOf === undefined) this.#touched.add(this.#groupAt(''));
  }

  /** Approximate memory. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Applies a change of the base. */
  apply({ inserts, deletes }: SourceChanges): void {
    eachPicked(deletes, undefined, (start) => this.remove(deletes.data, start));
    eachPicked(inserts, undefined, (start) => this.add(inserts.data, start));
  }

  add(bytes: Uint8Array, start: number): void {
    const group = this.#groupOf(bytes, start);
    this.#touched.add(group);
    group.count += 1;
    this.#eachValue(group, (part, value) => part.add(value));
  }

  remove(bytes: Uint8Array, start: number): void {
    const group = this.#groupOf(bytes, start);
    this.#touched.add(group);
    group.count -= 1;
    this.#eachValue(group, (part, value) => part.remove(value));
  }

  get isShort(): boolean {
    return this.#shortGroups().length > 0;
  }

  /** The keys of the only group that is short; `undefined` if there are several. */
  get shortKeys(): readonly QueryValue[] | undefined {
    const [only, second] = this.#shortGroups();
    return second === undefined ? only?.keys : undefined;
  }

  /** `feed` must show all rows of the short groups, and may show others. */
  refill(feed: RowFeed): void {
    const short = new Set<GroupPart>();
    for (const { parts } of this.#shortGroups()) {
      for (const part of parts) {
        if (!isShortPart(part)) continue;
        part.restart();
        short.add(part);
      }
    }
    feed((bytes, start) => {
      this.#eachValue(this.#groupOf(bytes, start), (part, value) => {
        if (short.has(part)) part.add(value);
      });
      return true;
    });
  }

  /** The change of the groups' rows since the last call. Throws `SqlFailure`. */
  takeChanges(): SourceChanges {
    const bag = new RowBag();
    for (const group of this.#touched) {
      const isGone = group.count === 0 && this.#keyOf !== undefined;
      const row = isGone ? undefined : this.#rowOf(group);
      const before = group.row;
      if (before !== undefined) bag.add(-1, before, 0, before.length);
      if (row !== undefined) bag.add(1, row, 0, row.length);
      group.row = row;
      if (isGone) this.#groups.delete(group.key);
      const bytes = isGone ? 0 : bytesOf(group);
      this.#bytes += bytes - group.bytes;
      group.bytes = bytes;
    }
    this.#touched.clear();
    const { gained, lost } = bag.surplus();
    return { inserts: gained, deletes: lost };
  }

  rows(): RowSet {
    const rows = new RowSetBuilder();
    this.feed((bytes, start, end) => {
      rows.add(bytes, start, end);
      return true;
    });
    return rows.finish();
  }

  readonly feed: RowFeed = (visit) => {
    for (const { row } of this.#groups.values()) {
      if (row !== undefined && !visit(row, 0, row.length)) return;
    }
  };

  #shortGroups(): readonly Group[] {
    return [...this.#touched].filter(({ parts }) => parts.some(isShortPart));
  }

  #groupOf(bytes: Uint8Array, start: number): Group {
    const frame = this.#frame;
    frame.pages[0] = bytes;
    frame.rows[0] = start;
    return this.#groupAt(this.#keyOf === undefined ? '' : this.#keyOf(frame));
  }

  /** The group of that key, which is the key of the row in the frame. */
  #groupAt(key: KeyPart): Group {
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    const made: Group = {
      key,
      keys: this.#keys.map((read) => read(this.#frame)),
      count: 0,
      parts: this.#aggregates.map(({ value, make }) => (value === undefined ? undefined : make())),
      row: undefined,
      bytes: 0,
    };
    made.bytes = bytesOf(made);
    this.#bytes += made.bytes;
    this.#groups.set(key, made);
    return made;
  }

  #eachValue({ parts }: Group, visit: (part: GroupPart, value: QueryValue) => void): void {
    for (let at = 0; at < parts.length; at++) {
      const part = parts[at];
      const value = this.#aggregates[at]?.value?.(this.#frame) ?? null;
      if (part !== undefined && value !== null) visit(part, value);
    }
  }

  #rowOf({ keys, parts, count }: Group): Uint8Array | undefined {
    const frame = this.#frame;
    const { values } = frame;
    let at = this.#firstValue;
    for (const key of keys) values[at++] = key;
    for (const part of parts) values[at++] = part === undefined ? BigInt(count) : part.finish();
    if (this.#having !== undefined && !this.#having(frame)) return undefined;
    return this.#outputOf(frame);
  }
}

interface GroupedAggregate {
  /** `undefined`: the aggregate counts rows. */
  readonly value: Evaluator | undefined;
  readonly make: () => GroupPart;
}

function columnAt(columns: readonly OutputColumn[], at: number): TypedExpression {
  return { kind: 'column', slot: 0, column: at, ...present(columns[at], 'a column of the base') };
}

function isShortPart(part: GroupPart | undefined): part is ExtremePart {
  return part instanceof ExtremePart && part.isShort;
}

function bytesOf({ keys, parts, row }: Group): number {
  let bytes = groupBytes + (row?.length ?? 0);
  for (const key of keys) bytes += typeof key === 'string' ? 64 + 6 * key.length : 16;
  for (const part of parts) if (part !== undefined) bytes += partBytes + part.bytes;
  return bytes;
}

/** Measured on Node 20. */
const groupBytes = 400;
const partBytes = 150;
