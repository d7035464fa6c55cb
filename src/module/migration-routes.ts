import { assert } from '../assert.ts';
import { decodeRawModule } from '../schema/decode-raw-module.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import { rowsRoute, wholeRoute } from '../schema/migration-route.ts';
import { validateModule } from '../schema/validate.ts';
import type { MigrationCall } from './migration-call.ts';

/** What a program is sent for a part of a migration. */
export interface SentRoute {
  /** Of the last migration, for log lines. */
  readonly id: string;
  /** JSON of a `RowsRoute` or a `WholeRoute`. */
  readonly text: string;
}

/**
 * The routes of a program's migrations, each made once: they follow from its description alone, of
 * which the database has checked that it is valid and that the steps fit.
 */
export class MigrationRoutes {
  readonly #definition: ModuleDefinition;
  readonly #made = new Map<string, SentRoute>();

  constructor(description: Uint8Array) {
    this.#definition = validateModule(decodeRawModule(description));
  }

  of(call: MigrationCall): SentRoute {
    const { kind, direction, first, last } = call;
    const table = kind === 'rows' ? call.table : '';
    const key = `${kind === 'rows'} ${direction} ${first} ${last} ${table}`;
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    const route =
      kind === 'rows'
        ? rowsRoute(this.#definition, call, table)
        : wholeRoute(this.#definition, call);
    assert(route !== undefined, `the program has no migration of table ${table} there`);
    const { id = '' } = this.#definition.migrations[last] ?? {};
    const made = { id, text: JSON.stringify(route) };
    this.#made.set(key, made);
    return made;
  }
}
