import type { Recipe, RouteLeg, RowsRoute } from '../schema/migration-route.ts';
import { BinaryReader } from '../values/binary-reader.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import { nativeDecoderOf, nativeEncoderOf } from '../values/native.ts';
import type { Typespace } from '../values/type.ts';
import type { RunnableStep, StepFunction } from './migration.ts';
import { type Fills, filledRow, fillsOf, makerOf, type ValueMaker } from './migration-fill.ts';
import type { Row } from './table-access.ts';

/** What is being done, for the text of a failure. */
export interface Place {
  /** Position of the row among those that came in; -1: no row. */
  row: number;
  step: string;
}

/** Rows of one table on their way, each with the position of the row that it comes from. */
interface Group {
  readonly rows: Row[];
  readonly at: number[];
}

type Groups = Map<string, Group>;

/** What functions get as their second argument. */
export type Moment = object;

/** Takes groups of rows one migration further. */
type Leg = (groups: Groups, moment: Moment) => Groups;

/**
 * A route, ready to take rows: all rows go through one migration before any goes through the next,
 * and each row is decoded and encoded once.
 */
export class RowMigration {
  readonly #route: RowsRoute;
  readonly #place: Place;
  readonly #decode: (reader: BinaryReader) => unknown;
  readonly #legs: readonly Leg[];
  readonly #stepsOf: (at: number) => readonly RunnableStep[];

  constructor(route: RowsRoute, stepsOf: (at: number) => readonly RunnableStep[], place: Place) {
    this.#route = route;
    this.#place = place;
    this.#stepsOf = stepsOf;
    this.#decode = nativeDecoderOf(route.row, route);
    this.#legs = route.legs.map((leg) => compileLeg(leg, stepsOf(leg.at), place));
  }

  /** Rows in, encoded; out: a count of tables, then of each its name, its rows, and their bytes. */
  take(rows: DataView, count: number, moment: Moment): Uint8Array {
    const place = this.#place;
    const bytes = new Uint8Array(rows.buffer as ArrayBuffer, rows.byteOffset, rows.byteLength);
    const reader = new BinaryReader(bytes);
    const first: Group = { rows: [], at: [] };
    place.step = `reading ${this.#route.table}`;
    for (let at = 0; at < count; at += 1) {
      place.row = at;
      first.rows.push(this.#decode(reader) as Row);
      first.at.push(at);
    }
    let groups: Groups = new Map([[this.#route.table, first]]);
    for (const leg of this.#legs) groups = leg(groups, moment);
    return this.#encoded(groups);
  }

  #encoded(groups: Groups): Uint8Array {
    const place = this.#place;
    const writer = new BinaryWriter(4_096);
    writer.u32(groups.size);
    for (const [name, { rows, at }] of groups) {
      const end = this.#route.out[name];
      if (end === undefined) throw new TypeError(`no table ${name} after the migration`);
      const encode = nativeEncoderOf(end.row, end, name);
      const block = new BinaryWriter(4_096);
      for (let index = 0; index < rows.length; index += 1) {
        place.row = at[index] as number;
        place.step = `writing ${name}`;
        try {
          encode(block, rows[index]);
        } catch (error) {
          place.step = this.#blamed(name, rows[index] as Row) ?? place.step;
          throw error;
        }
      }
      writer.string(end.name);
      writer.u32(rows.length);
      writer.bytes(block.view());
    }
    return writer.finish();
  }

  /** The step of the last migration that gave what its column cannot hold. */
  #blamed(table: string, row: Row): string | undefined {
    const leg = this.#route.legs.at(-1);
    const end = this.#route.out[table];
    if (leg === undefined || end === undefined) return undefined;
    const words = (step: number | undefined) => {
      const made = step === undefined ? undefined : this.#stepsOf(leg.at)[step];
      return made && wordsOf(made);
    };
    for (const recipe of Object.values(leg.tables)) {
      if (recipe.kind === 'map' && recipe.to === table) return words(recipe.step);
      if (recipe.kind === 'split' && table in recipe.into) return words(recipe.step);
      if (recipe.kind !== 'columns' || recipe.to !== table) continue;
      const wrong = recipe.columns.find(({ name, step }) => {
        return step !== undefined && !holds(end, name, row[name]);
      });
      return words(wrong?.step);
    }
    return undefined;
  }
}

/** Whether a column can hold the value. */
function holds(end: RowsRoute['out'][string], column: string, value: unknown): boolean {
  const typespace: Typespace = end;
  const row = end.row.kind === 'ref' ? typespace.types[end.row.ref] : end.row;
  const element = row?.kind === 'product' ? row.elements.find(({ name }) => name === column) : null;
  if (element === null || element === undefined) return true;
  try {
    nativeEncoderOf(element.type, typespace)(new BinaryWriter(64), value);
    return true;
  } catch {
    return false;
  }
}

/** A step as failures name it: `addColumn user.age`. */
export function wordsOf({ step }: RunnableStep): string {
  if ('column' in step) return `${step.kind} ${step.table}.${step.column}`;
  if ('table' in step) return `${step.kind} ${step.table}`;
  return step.kind === 'assert' ? `assert "${step.text}"` : step.kind;
}

function compileLeg(leg: RouteLeg, steps: readonly RunnableStep[], place: Place): Leg {
  const recipes = new Map(
    Object.entries(leg.tables).map(([name, recipe]) => {
      return [name, compileRecipe(recipe, leg, { steps, place, table: name })] as const;
    }),
  );
  return (groups, moment) => {
    const next: Groups = new Map();
    for (const [name, group] of groups) {
      const take = recipes.get(name);
      if (take === undefined) throw new TypeError(`no table ${name} before the migration`);
      take(group, next, moment);
    }
    return next;
  };
}

type TakeGroup = (group: Group, next: Groups, moment: Moment) => void;

interface Around {
  readonly steps: readonly RunnableStep[];
  readonly place: Place;
  readonly table: string;
}

function compileRecipe(recipe: Recipe, leg: RouteLeg, around: Around): TakeGroup {
  const { steps, place, table } = around;
  switch (recipe.kind) {
    case 'none':
      return () => {};
    case 'refuse':
      return ({ at }) => {
        if (at.length === 0) return;
        place.row = at[0] as number;
        place.step = `removing ${table}`;
        throw new TypeError(`table ${table} is removed, but it has rows: m.dropTable removes them`);
      };
    case 'same':
      return (group, next) => addAll(next, recipe.to, group);
    case 'columns':
      return columnsTaker(recipe, leg, around);
    case 'map': {
      const step = steps[recipe.step];
      const fills = fillsOf(recipe.fill, leg);
      const run = functionOf(step?.run);
      const words = step === undefined ? '' : wordsOf(step);
      return (group, next, moment) => {
        const made = { run, fills, words, place };
        addAll(next, recipe.to, rowsMade(group, made, moment));
      };
    }
    case 'split': {
      const step = steps[recipe.step];
      const words = step === undefined ? '' : wordsOf(step);
      const parts = Object.entries(recipe.into).map(([to, fill]) => {
        return { to, run: functionOf(step?.into?.[to]), fills: fillsOf(fill, leg), words, place };
      });
      return (group, next, moment) => {
        for (const part of parts) addAll(next, part.to, rowsMade(group, part, moment));
      };
    }
  }
}

/** What gives the value of one column. */
interface ColumnSource {
  readonly name: string;
  readonly old: string | undefined;
  readonly run: StepFunction | undefined;
  readonly words: string;
  readonly make: ValueMaker | undefined;
}

function columnsTaker(
  { to, columns }: Extract<Recipe, { readonly kind: 'columns' }>,
  leg: RouteLeg,
  { steps, place }: Around,
): TakeGroup {
  const sources = columns.map(({ name, old, step, value }): ColumnSource => {
    const made = step === undefined ? undefined : steps[step];
    const run = step === undefined ? undefined : functionOf(made?.run);
    const words = made === undefined ? '' : wordsOf(made);
    return { name, old, run, words, make: value && makerOf(value, leg) };
  });
  return ({ rows, at }, next, moment) => {
    const taken = rows.map((row, index) => {
      place.row = at[index] as number;
      const made: Row = {};
      for (const { name, old, run, words, make } of sources) {
        if (old !== undefined) made[name] = row[old];
        else if (run === undefined) made[name] = make?.();
        else {
          place.step = words;
          made[name] = run(row, moment);
        }
      }
      return made;
    });
    addAll(next, to, { rows: taken, at });
  };
}

interface RowMaker {
  readonly run: StepFunction;
  readonly fills: Fills;
  readonly words: string;
  readonly place: Place;
}

/** The rows that a function makes of each row. */
function rowsMade(
  { rows, at }: Group,
  { run, fills, words, place }: RowMaker,
  moment: Moment,
): Group {
  const made: Group = { rows: [], at: [] };
  place.step = words;
  for (let index = 0; index < rows.length; index += 1) {
    const position = at[index] as number;
    place.row = position;
    const given = run(rows[index], moment);
    if (given === undefined || given === null) continue;
    for (const row of isArray(given) ? given : [given]) {
      made.rows.push(filledRow(row as Row, fills));
      made.at.push(position);
    }
  }
  return made;
}

function addAll(groups: Groups, name: string, { rows, at }: Group): void {
  const known = groups.get(name);
  if (known === undefined) {
    groups.set(name, { rows, at });
    return;
  }
  for (const row of rows) known.rows.push(row);
  for (const position of at) known.at.push(position);
}

function functionOf(run: StepFunction | undefined): StepFunction {
  if (run === undefined) throw new TypeError('the migration has no such step');
  return run;
}

const { isArray } = Array;
