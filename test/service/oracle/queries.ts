import type { Random } from '../../../src/testing/random.ts';
import { type Plan, type ProgramVersion, type Row, viewNames, zoneOfView } from './plan.ts';

/** Rows of every table as they are, by name. */
export type Base = ReadonlyMap<string, readonly Row[]>;

/** Who asks, and what they may see. */
export interface Viewer {
  /** With `0x`. */
  readonly identity: string;
  readonly isOwner: boolean;
}

/** A query, and what it means, told apart from the engine. */
export interface Query {
  readonly sql: string;
  /** The table or view whose rows come. */
  readonly from: string;
  /** The rows that a viewer gets, as often as they match; `undefined`: it is refused. */
  readonly rows: (world: World, viewer: Viewer) => readonly Row[] | undefined;
  readonly isEvent?: boolean;
  /** True: the larger dialect may take it. */
  readonly isDoubtful?: boolean;
}

export interface World {
  readonly base: Base;
  readonly version: ProgramVersion;
}

type Condition = { readonly sql: string; readonly holds: (row: Row, viewer: Viewer) => boolean };

/** Makes queries over the tables and views of a plan. */
export class Queries {
  readonly #plan: Plan;
  readonly #random: Random;

  constructor(plan: Plan, random: Random) {
    this.#plan = plan;
    this.#random = random;
  }

  /** One to four queries, some of them several times, some refused. */
  set(): Query[] {
    const random = this.#random;
    const queries = Array.from({ length: 1 + random.below(4) }, () => this.one());
    if (random.chance(0.1)) queries.push(random.pick(queries));
    // The time at which a set begins tells which events it has to hear.
    if (queries.some(({ isEvent }) => isEvent)) queries.push(clockQuery);
    return queries;
  }

  one(): Query {
    const random = this.#random;
    const choice = random.below(20);
    if (choice < 9) return this.#single();
    if (choice < 14) return this.#join();
    if (choice < 16) return clockQuery;
    if (choice < 17) return bellQuery;
    if (choice < 18) return mistake(random);
    return this.#single(random.pick(viewNames));
  }

  #tableName(): string {
    const { tables } = this.#plan;
    if (this.#random.chance(0.05)) return 'hidden';
    return this.#random.pick([...tables.filter(({ isPublic }) => isPublic), { name: 'mine' }]).name;
  }

  #single(name = this.#tableName()): Query {
    const { sql, holds } = this.#condition('');
    const text = `SELECT * FROM ${name}${sql === '' ? '' : ` WHERE ${sql}`}`;
    const rows: Query['rows'] = (world, viewer) =>
      this.visible(name, world, viewer)?.filter((row) => holds(row, viewer));
    return { sql: this.#spelled(text), from: name, rows };
  }

  /** Rows of the first table, once for each partner with the same `a`. */
  #join(): Query {
    const random = this.#random;
    const [left, right] = [this.#tableName(), this.#tableName()];
    if (left === right || viewNames.includes(right as never)) return this.#single();
    const ofLeft = random.chance(0.5) ? this.#condition(`${left}.`) : always;
    const ofRight = random.chance(0.5) ? this.#condition(`${right}.`) : always;
    const conditions = [ofLeft.sql, ofRight.sql].filter((sql) => sql !== '').join(' AND ');
    const where = conditions === '' ? '' : ` WHERE ${conditions}`;
    const text = `SELECT ${left}.* FROM ${left} JOIN ${right} ON ${left}.a = ${right}.a${where}`;
    const rows: Query['rows'] = (world, viewer) => {
      const lefts = this.visible(left, world, viewer);
      const rights = this.visible(right, world, viewer);
      if (lefts === undefined || rights === undefined) return undefined;
      const partners = rights.filter((row) => ofRight.holds(row, viewer));
      return lefts
        .filter((row) => ofLeft.holds(row, viewer))
        .flatMap((row) => partners.filter((partner) => partner[1] === row[1]).map(() => row));
    };
    return { sql: text, from: left, rows };
  }

  /** What a viewer sees of a table or view, a row once however many filters show it. */
  visible(name: string, { base, version }: World, viewer: Viewer): readonly Row[] | undefined {
    const all = base.get(name) ?? [];
    const own = (row: Row) => row[4][0] === viewer.identity;
    const ofViews = base.get('alpha') ?? [];
    if (name === 'mine') return ofViews.filter(own);
    if (name === 'zone') return ofViews.filter((row) => row[1] === zoneOfView[version]);
    if (viewer.isOwner) return all;
    if (name === 'hidden') return undefined;
    if (name !== this.#plan.filtered) return all;
    const isOpen = (row: Row) => this.#plan.hasTwoFilters && row[1] === 0;
    return all.filter((row) => own(row) || isOpen(row));
  }

  #condition(prefix: string): Condition {
    const random = this.#random;
    if (random.chance(0.2)) return always;
    const first = this.#comparison(prefix);
    if (random.chance(0.5)) return first;
    const second = this.#comparison(prefix);
    const isAnd = random.chance(0.6);
    return {
      sql: `(${first.sql} ${isAnd ? 'AND' : 'OR'} ${second.sql})`,
      holds: (row, viewer) =>
        isAnd
          ? first.holds(row, viewer) && second.holds(row, viewer)
          : first.holds(row, viewer) || second.holds(row, viewer),
    };
  }

  #comparison(prefix: string): Condition {
    const random = this.#random;
    const number = random.below(4);
    switch (random.below(7)) {
      case 0:
        return { sql: `${prefix}a = ${number}`, holds: (row) => row[1] === number };
      case 1:
        return { sql: `${prefix}a <> ${number}`, holds: (row) => row[1] !== number };
      case 2:
        return { sql: `${prefix}b >= ${number}`, holds: (row) => row[2] >= number };
      case 3:
        return { sql: `${prefix}b < ${number}`, holds: (row) => row[2] < number };
      case 4:
        return { sql: `${prefix}text = 'w${number}'`, holds: (row) => row[3] === `w${number}` };
      case 5:
        return {
          sql: `${prefix}who = :sender`,
          holds: (row, { identity }) => row[4][0] === identity,
        };
      default:
        return { sql: `${prefix}a < ${number}`, holds: (row) => row[1] < number };
    }
  }

  /** Other texts are other queries, and deliver rows of their own. */
  #spelled(sql: string): string {
    if (this.#random.chance(0.85)) return sql;
    return this.#random.chance(0.5)
      ? sql.replace('FROM', ' FROM')
      : sql.replace('SELECT', 'select');
  }
}

const always: Condition = { sql: '', holds: () => true };

/** Its rows are looked at while they come, not afterwards. */
const clockQuery: Query = { sql: 'SELECT * FROM clock', from: 'clock', rows: () => [] };
const bellQuery: Query = { sql: 'SELECT * FROM bell', from: 'bell', rows: () => [], isEvent: true };

function mistake(random: Random): Query {
  const sql = random.pick([
    'SELECT * FROM nothing',
    'SELECT id FROM alpha',
    'SELECT alpha.* FROM alpha JOIN beta ON alpha.text = beta.text',
    'SELECT',
    '',
    'SELECT * FROM alpha WHERE nothing = 1',
  ]);
  const isDoubtful = sql !== 'SELECT * FROM nothing';
  return { sql, from: 'alpha', rows: () => undefined, isDoubtful };
}
