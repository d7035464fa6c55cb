import { migrationKinds } from '../protocol/module-abi.ts';
import type { DeclaredMigration } from '../schema/declared-step.ts';
import { migrationsBlock } from '../schema/encode-migrations.ts';
import type { RowsRoute, WholeRoute } from '../schema/migration-route.ts';
import { fromBase64 } from '../values/base64.ts';
import { Timestamp } from '../values/timestamp.ts';
import type { Bridge } from './bridge.ts';
import { extensionKey } from './extension-key.ts';
import { type Moment, type Place, RowMigration, wordsOf } from './migrate-rows.ts';
import { type Migration, migrationKey, type RunnableStep } from './migration.ts';
import { migrationTables } from './migration-tables.ts';
import type { ProgramExtension } from './program.ts';

/** A file of `migrations/`, as the entry that the bundler writes passes it. */
export interface MigrationFile {
  /** The name of the file without its ending. */
  readonly id: string;
  /** Base64 of the SHA-256 of its text. */
  readonly hash: string;
  /** Base64 of the definition before. */
  readonly before: string;
  /** What it exports as default. */
  readonly migration: unknown;
}

/** Called by the entry of a program with migrations, before the host asks for its hooks. */
export function attachMigrations(schema: object, files: readonly MigrationFile[]): void {
  const migrations = files.map(migrationOf);
  Object.assign(schema, { [extensionKey]: extensionOf(migrations) });
}

interface CarriedMigration extends DeclaredMigration {
  readonly up: readonly RunnableStep[];
  readonly back: readonly RunnableStep[];
}

function migrationOf({ id, hash, before, migration }: MigrationFile): CarriedMigration {
  const made = (migration as Partial<Migration> | undefined)?.[migrationKey];
  if (made === undefined) {
    const what = 'must have a migration as default export';
    throw new TypeError(`migrations/${id}.ts ${what}: export default migration({ … })`);
  }
  if (made.id !== id) {
    throw new TypeError(`migrations/${id}.ts declares the id '${made.id}', not that of its file`);
  }
  return {
    id,
    hash: bytesOf(hash),
    before: bytesOf(before),
    steps: made.steps.map(({ step }) => step),
    down: made.down?.map(({ step }) => step),
    up: made.steps,
    back: made.down ?? [],
  };
}

function bytesOf(text: string): Uint8Array {
  return fromBase64(text) ?? new Uint8Array(0);
}

function extensionOf(migrations: readonly CarriedMigration[]): ProgramExtension {
  return {
    block: migrationsBlock(migrations),
    hooks(bridge) {
      const run = new MigrationRun(bridge, migrations);
      return {
        __call_migration__: (
          kind: number,
          step: number,
          count: number,
          timestamp: bigint,
          rows: DataView,
          route: string,
        ) => run.call({ kind, step, count, timestamp, rows, route }),
        __migration_place__: () => `${run.place.row}\n${run.place.step}`,
      };
    },
  };
}

interface Asked {
  readonly kind: number;
  readonly step: number;
  readonly count: number;
  readonly timestamp: bigint;
  readonly rows: DataView;
  /** A `RowsRoute` or a `WholeRoute`, as JSON. */
  readonly route: string;
}

/** Routes that are kept ready. */
const routesMax = 64;

class MigrationRun {
  readonly place: Place = { row: -1, step: '' };
  readonly #bridge: Bridge;
  readonly #migrations: readonly CarriedMigration[];
  readonly #ready = new Map<string, { readonly route: RowsRoute; readonly rows: RowMigration }>();

  constructor(bridge: Bridge, migrations: readonly CarriedMigration[]) {
    this.#bridge = bridge;
    this.#migrations = migrations;
  }

  call(asked: Asked): Uint8Array {
    this.place.row = -1;
    this.place.step = '';
    return asked.kind === migrationKinds.rows ? this.#rows(asked) : this.#whole(asked);
  }

  #rows({ route: text, rows, count, timestamp }: Asked): Uint8Array {
    const { route, rows: migration } = this.#readyFor(text);
    const old =
      route.old.length === 0 ? {} : { old: migrationTables(this.#bridge, route.old, 'read') };
    const moment: Moment = Object.freeze({ timestamp: new Timestamp(timestamp), ...old });
    return migration.take(rows, count, moment);
  }

  #readyFor(text: string) {
    const known = this.#ready.get(text);
    if (known !== undefined) return known;
    const route = JSON.parse(text) as RowsRoute;
    const stepsOf = (at: number) => this.#stepsOf(route.direction, at);
    const ready = { route, rows: new RowMigration(route, stepsOf, this.place) };
    if (this.#ready.size >= routesMax) this.#ready.clear();
    this.#ready.set(text, ready);
    return ready;
  }

  /** One byte: whether a check holds; a `run` always does. */
  #whole({ kind, step, timestamp, route: text }: Asked): Uint8Array {
    const { direction, at, old, next } = JSON.parse(text) as WholeRoute;
    const declared = this.#stepsOf(direction, at)[step];
    if (declared?.run === undefined) throw new TypeError('the migration has no such step');
    this.place.step = wordsOf(declared);
    const isRun = kind === migrationKinds.run;
    const result = declared.run(
      Object.freeze({
        timestamp: new Timestamp(timestamp),
        old: migrationTables(this.#bridge, old, 'read'),
        new: migrationTables(this.#bridge, next, isRun ? 'write' : 'read'),
      }),
    );
    if (isPromise(result)) throw new TypeError(`${declared.step.kind} must not be async`);
    if (!isRun && typeof result !== 'boolean') {
      throw new TypeError('the function of an assertion must return true or false');
    }
    return Uint8Array.of(isRun || result === true ? 1 : 0);
  }

  #stepsOf(direction: 'up' | 'down', at: number): readonly RunnableStep[] {
    const migration = this.#migrations[at];
    return (direction === 'up' ? migration?.up : migration?.back) ?? [];
  }
}

function isPromise(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'then' in value;
}
