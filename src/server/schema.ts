import { type AnyType, TypeBuilder } from '../declare/builder.ts';
import { columnsOf, type UnitBuilder } from '../declare/composite.ts';
import type { Described, VerbatimNames } from '../declare/described.ts';
import type { Columns } from '../declare/infer.ts';
import { t } from '../declare/t.ts';
import { type AnyTable, DeclaredTable } from '../declare/table.ts';
import { moduleHooksKey } from '../protocol/module-abi.ts';
import type { Lifecycle } from '../schema/definition.ts';
import type { RawModule } from '../schema/raw-module.ts';
import type { Typespace } from '../values/type.ts';
import type { HandlerContext } from './contexts.ts';
import { describeModule, type SchemaParts } from './describe.ts';
import type { EnvDeclaration, EnvReader, envType } from './env.ts';
import { extensionKey } from './extension-key.ts';
import type {
  AnonymousView,
  ContextOf,
  CronOptions,
  CronParams,
  ExactlyOne,
  HandlerOptions,
  HandlerResult,
  HttpHandler,
  HttpHandlerExport,
  NameOption,
  Params,
  Procedure,
  ProcedureExport,
  Reducer,
  ReducerExport,
  ReducerOptions,
  ScheduledParams,
  ScheduledProcedureOptions,
  ScheduledReducerOptions,
  View,
  ViewError,
  ViewExport,
  ViewOptions,
  ViewReturns,
} from './functions.ts';
import { type ModuleHooks, type ProgramExtension, startProgram } from './program.ts';
import {
  type AnyHandler,
  type AuthOptions,
  type FunctionOptions,
  type ModuleExport,
  registeredFunction,
  registeredValue,
} from './registration.ts';
import type { Router } from './router.ts';
import type { Sys } from './sys.ts';

/** The host finds a module's hooks on its default export, under this key. */
const hooksKey: unique symbol = Symbol.for(moduleHooksKey);

/** Tables and submodules by accessor. */
export type SchemaEntries = Readonly<Record<string, AnyTable | SubmoduleNamespace>>;

/** A whole module, imported by `import * as`. */
export interface SubmoduleNamespace {
  readonly default: { readonly schemaType: unknown };
}

/** How names in the module become names in SQL and on the wire. */
export type CaseConversionPolicy = { readonly tag: 'SnakeCase' } | { readonly tag: 'None' };

/**
 * The two policies: snake case, or names as written.
 *
 * @example
 * ```ts
 * const db = schema({ hero }, { CASE_CONVERSION_POLICY: CaseConversionPolicy.None });
 * ```
 */
export const CaseConversionPolicy = {
  SnakeCase: { tag: 'SnakeCase' },
  None: { tag: 'None' },
} as const satisfies Record<string, CaseConversionPolicy>;

/**
 * Settings of a schema for the whole module.
 *
 * @example
 * ```ts
 * const settings: ModuleSettings = { CASE_CONVERSION_POLICY: CaseConversionPolicy.None };
 * ```
 */
export interface ModuleSettings {
  readonly CASE_CONVERSION_POLICY?: CaseConversionPolicy;
  /** The configuration that the module reads, as `ctx.env`. */
  readonly env?: EnvDeclaration;
}

/** The type of a schema's entries, with what it declares as `env`. */
type WithEnv<Entries, E> = [E] extends [never] ? Entries : Entries & { readonly [envType]: E };

/** A module's tables, and the methods that declare its functions. Its default export. */
export interface Schema<Tables> {
  /** The entries of the schema; their type is the schema's definition. */
  readonly schemaType: Tables;
  /** The tables' part of the module's description. */
  readonly moduleDef: RawModule;
  readonly typespace: Typespace;

  /** Declares a function that clients call and that runs in a transaction. */
  reducer(body: Reducer<Tables, Record<never, never>>): ReducerExport<Tables, Record<never, never>>;
  reducer<P extends Params>(params: P, body: Reducer<Tables, P>): ReducerExport<Tables, P>;
  reducer(
    options: NameOption,
    body: Reducer<Tables, Record<never, never>>,
  ): ReducerExport<Tables, Record<never, never>>;
  /** Declares a reducer that the rows of a table schedule. */
  reducer<Table extends AnyTable, P extends ScheduledParams<Table>>(
    options: ScheduledReducerOptions<Table>,
    params: P & ExactlyOne<P>,
    body: Reducer<Tables, P>,
  ): ReducerExport<Tables, P, true>;
  /** Declares a reducer that can return a value, or reject calls with one. */
  reducer<P extends Params, R extends AnyType = never, E extends AnyType = never>(
    options: ReducerOptions<R, E>,
    params: P,
    body: Reducer<Tables, P, R>,
  ): ReducerExport<Tables, P, false, R, E>;

  /**
   * Declares a reducer that runs at the times of a cron expression: minute, hour, day of the month,
   * month and day of the week, or a name such as `@daily`. A sixth field in front counts seconds.
   */
  cron(
    expression: string,
    body: Reducer<Tables, CronParams>,
  ): ReducerExport<Tables, CronParams, true>;
  cron(
    expression: string,
    options: CronOptions,
    body: Reducer<Tables, CronParams>,
  ): ReducerExport<Tables, CronParams, true>;

  /** Declares a reducer that runs once, when the database is created. */
  init: LifecycleForms<Tables>;
  /**
   * Declares a reducer that runs when a client connects; if it throws, the connection is refused.
   */
  clientConnected: LifecycleForms<Tables>;
  /** Declares a reducer that runs when a client has disconnected. */
  clientDisconnected: LifecycleForms<Tables>;

  /** Declares rows that are computed separately for each caller. */
  view<Returns extends ViewReturns, F extends View<Tables, Returns>>(
    options: ViewOptions,
    returns: Returns,
    body: F & View<Tables, Returns>,
    ..._error: ViewError<Returns>
  ): ViewExport<F, Returns>;
  /** Declares rows that are computed once for all callers. */
  anonymousView<Returns extends ViewReturns, F extends AnonymousView<Tables, Returns>>(
    options: ViewOptions,
    returns: Returns,
    body: F & AnonymousView<Tables, Returns>,
    ..._error: ViewError<Returns>
  ): ViewExport<F, Returns>;

  /** Declares a function that returns a result and opens its own transactions. */
  procedure<R extends AnyType, F extends Procedure<Tables, Record<never, never>, R>>(
    returns: R,
    body: F & Procedure<Tables, Record<never, never>, R>,
  ): ProcedureExport<Tables, Record<never, never>, R, false, F>;
  procedure<P extends Params, R extends AnyType, F extends Procedure<Tables, P, R>>(
    params: P,
    returns: R,
    body: F & Procedure<Tables, P, R>,
  ): ProcedureExport<Tables, P, R, false, F>;
  procedure<R extends AnyType, F extends Procedure<Tables, Record<never, never>, R>>(
    options: NameOption,
    returns: R,
    body: F & Procedure<Tables, Record<never, never>, R>,
  ): ProcedureExport<Tables, Record<never, never>, R, false, F>;
  procedure<P extends Params, R extends AnyType, F extends Procedure<Tables, P, R>>(
    options: NameOption,
    params: P,
    returns: R,
    body: F & Procedure<Tables, P, R>,
  ): ProcedureExport<Tables, P, R, false, F>;
  /** Declares a procedure that the rows of a table schedule. */
  procedure<Table extends AnyTable, P extends ScheduledParams<Table>>(
    options: ScheduledProcedureOptions<Table>,
    params: P & ExactlyOne<P>,
    returns: UnitBuilder,
    body: Procedure<Tables, P, UnitBuilder>,
  ): ProcedureExport<Tables, P, UnitBuilder, true>;

  /** Declares a function that answers HTTP requests of a route. */
  httpHandler<R extends HandlerResult>(
    body: HttpHandler<HandlerContext<Tables>, R>,
  ): HttpHandlerExport<Tables, HandlerContext<Tables>, R>;
  /** Declares one that looks at the token of the request. */
  httpHandler<Auth extends 'optional' | 'required', R extends HandlerResult>(
    options: HandlerOptions<Auth>,
    body: HttpHandler<ContextOf<Tables, Auth>, R>,
  ): HttpHandlerExport<Tables, ContextOf<Tables, Auth>, R>;
  httpHandler<R extends HandlerResult>(
    options: NameOption,
    body: HttpHandler<HandlerContext<Tables>, R>,
  ): HttpHandlerExport<Tables, HandlerContext<Tables>, R>;
  /** Declares routes. A module can export several routers. */
  httpRouter(router: Router): ModuleExport;

  /**
   * Declares the configuration that the module reads, as the second argument of `schema` does:
   * export it, and read it by `env.of(ctx)`.
   */
  env<const E extends EnvDeclaration>(declaration: E): EnvReader<E> & ModuleExport;

  readonly clientVisibilityFilter: {
    /** Declares which rows of a public table a client can see. */
    sql(text: string): ModuleExport;
  };

  /** Combines several exports into one, each under its key. */
  exportGroup<Members extends Readonly<Record<string, ModuleExport>>>(
    members: Members,
  ): Members & ModuleExport & Described<{ readonly kind: 'group'; readonly members: Members }>;
}

interface LifecycleForms<Tables> {
  (body: Reducer<Tables, Record<never, never>>): ReducerExport<Tables, Record<never, never>, true>;
  (
    options: NameOption,
    body: Reducer<Tables, Record<never, never>>,
  ): ReducerExport<Tables, Record<never, never>, true>;
}

/**
 * Puts tables together into a module. The result is the module's default export; functions are
 * declared by its methods and exported by name.
 *
 * @example
 * ```ts
 * const db = schema({ hero });
 * export default db;
 *
 * export const rename = db.reducer({ nick: t.string() }, (ctx, { nick }) => {
 *   const mine = ctx.db.hero.owner.find(ctx.sender);
 *   if (!mine) throw new SenderError('join first');
 *   ctx.db.hero.owner.update({ ...mine, nick });
 * });
 * ```
 */
export function schema<const Entries extends SchemaEntries, E extends EnvDeclaration = never>(
  entries: Entries,
  settings: {
    readonly CASE_CONVERSION_POLICY: typeof CaseConversionPolicy.None;
    readonly env?: E;
  },
): Schema<WithEnv<Entries, E>> & VerbatimNames;
export function schema<const Entries extends SchemaEntries, E extends EnvDeclaration = never>(
  entries: Entries,
  settings?: ModuleSettings & { readonly env?: E },
): Schema<WithEnv<Entries, E>>;
export function schema<const Entries extends SchemaEntries>(
  entries: Entries,
  settings: ModuleSettings = {},
): Schema<Entries> {
  // The class below does not know the types that the interface promises.
  return new ModuleSchema(entries, settings) as unknown as Schema<Entries>;
}

class ModuleSchema implements SchemaParts {
  readonly schemaType: Readonly<Record<string, unknown>>;
  readonly tables = new Map<string, DeclaredTable>();
  readonly submodules = new Map<string, Readonly<Record<string, unknown>>>();
  readonly caseConversion: RawModule['caseConversion'];
  readonly declaredEnv: EnvDeclaration | undefined;
  /** Set by the program's entry, where it has migrations. */
  [extensionKey]: ProgramExtension | undefined;

  constructor(entries: Readonly<Record<string, unknown>>, settings: ModuleSettings) {
    this.schemaType = entries;
    this.declaredEnv = settings.env;
    this.caseConversion = settings.CASE_CONVERSION_POLICY?.tag === 'None' ? 'none' : 'snakeCase';
    for (const [key, entry] of Object.entries(entries)) {
      if (entry instanceof DeclaredTable) this.tables.set(key, entry);
      else this.submodules.set(key, namespaceOf(key, entry));
    }
  }

  get moduleDef(): RawModule {
    return describeModule(this, {}, schemaOf).raw;
  }

  get typespace(): Typespace {
    return this.moduleDef.typespace;
  }

  /** The host calls this once per loaded program, with the module's own exports. */
  [hooksKey](namespace: Readonly<Record<string, unknown>>, sys: Sys): ModuleHooks {
    return startProgram(describeModule(this, namespace, schemaOf), sys, this[extensionKey]);
  }

  reducer(...given: unknown[]): ModuleExport {
    return this.#reducer(undefined, given);
  }

  cron(expression: unknown, ...given: unknown[]): ModuleExport {
    const handler = given.pop() as AnyHandler;
    const { name, timeZone, ...policy } = (given[0] ?? {}) as CronOptions;
    return registeredFunction(this, {
      kind: 'reducer',
      lifecycle: undefined,
      options: name === undefined ? policy : { ...policy, name },
      params: { due: t.timestamp() },
      handler,
      cron: { expression, timeZone },
    });
  }

  init(...given: unknown[]): ModuleExport {
    return this.#reducer('init', given);
  }

  clientConnected(...given: unknown[]): ModuleExport {
    return this.#reducer('onConnect', given);
  }

  clientDisconnected(...given: unknown[]): ModuleExport {
    return this.#reducer('onDisconnect', given);
  }

  #reducer(lifecycle: Lifecycle | undefined, given: unknown[]): ModuleExport {
    const handler = given.pop() as AnyHandler;
    // A single remaining argument is either; a lifecycle reducer has no parameters.
    const hasOptions = given.length === 2 || lifecycle !== undefined || areOptions(given[0]);
    const options = (hasOptions && given.shift()) || {};
    const params = paramsOf(given[0]);
    return registeredFunction(this, { kind: 'reducer', lifecycle, options, params, handler });
  }

  procedure(...given: unknown[]): ModuleExport {
    const handler = given.pop() as AnyHandler;
    const returns = given.pop() as AnyType;
    const hasOptions = given.length === 2 || areOptions(given[0]);
    const options = (hasOptions && given.shift()) || {};
    const params = paramsOf(given[0]);
    return registeredFunction(this, { kind: 'procedure', options, params, returns, handler });
  }

  view(options: FunctionOptions, returns: AnyType, handler: AnyHandler): ModuleExport {
    const isAnonymous = false;
    return registeredFunction(this, { kind: 'view', isAnonymous, options, returns, handler });
  }

  anonymousView(options: FunctionOptions, returns: AnyType, handler: AnyHandler): ModuleExport {
    const isAnonymous = true;
    return registeredFunction(this, { kind: 'view', isAnonymous, options, returns, handler });
  }

  httpHandler(...given: unknown[]): ModuleExport {
    const handler = given.pop() as AnyHandler;
    const options = (given[0] ?? {}) as FunctionOptions & AuthOptions;
    return registeredFunction(this, { kind: 'httpHandler', options, handler });
  }

  httpRouter(router: Router): ModuleExport {
    return registeredValue(this, { kind: 'httpRouter', router });
  }

  env(declaration: EnvDeclaration): EnvReader<unknown> & ModuleExport {
    const of = ({ env }: { readonly env: object }) => env;
    return Object.freeze({ ...registeredValue(this, { kind: 'env', declaration }), of });
  }

  get clientVisibilityFilter(): { sql(text: string): ModuleExport } {
    return { sql: (text) => registeredValue(this, { kind: 'rowFilter', sql: text }) };
  }

  exportGroup(members: Readonly<Record<string, unknown>>): ModuleExport {
    return { ...members, ...registeredValue(this, { kind: 'group', members }) };
  }
}

function schemaOf(value: unknown): SchemaParts | undefined {
  return value instanceof ModuleSchema ? value : undefined;
}

function namespaceOf(key: string, entry: unknown): Readonly<Record<string, unknown>> {
  if (schemaOf(entry) !== undefined) {
    throw new TypeError(
      `schema entry '${key}' looks like a default import; use \`import * as ${key} from '...'\` ` +
        "so the submodule can see the library's named reducer exports.",
    );
  }
  const namespace = entry as Readonly<Record<string, unknown>> | null | undefined;
  if (schemaOf(namespace?.default) === undefined) {
    throw new TypeError(`schema entry '${key}' must be a table or a submodule namespace object`);
  }
  return namespace as Readonly<Record<string, unknown>>;
}

/** Options have a name that is a string; a parameter called `name` is a builder. */
function areOptions(given: unknown): boolean {
  if (given === undefined || given instanceof TypeBuilder) return false;
  const { name, onSchedule } = given as FunctionOptions;
  return typeof name === 'string' || onSchedule instanceof DeclaredTable;
}

function paramsOf(params: unknown): Columns {
  return params instanceof TypeBuilder ? columnsOf(params) : ((params ?? {}) as Columns);
}
