import { columnOf } from '../declare/builder.ts';
import { columnsOf, resolved } from '../declare/composite.ts';
import type { Columns } from '../declare/infer.ts';
import { indexSourceName, toPascalCase } from '../declare/names.ts';
import { type DeclaredTable, isPrimaryKey } from '../declare/table.ts';
import { TypeRegistry } from '../declare/type-registry.ts';
import { defaultSchedulePolicy, type HandlerAuth } from '../schema/definition.ts';
import {
  emptyRawModule,
  type RawCron,
  type RawDerivedIndex,
  type RawEnvName,
  type RawExplicitName,
  type RawHandlerAuth,
  type RawHttpRoute,
  type RawModule,
  type RawParamDefault,
  type RawProcedure,
  type RawReducer,
  type RawSchedule,
  type RawScheduleDelivery,
  type RawSchedulePolicy,
  type RawTable,
  type RawVector,
  type RawView,
} from '../schema/raw-module.ts';
import { BinaryWriter } from '../values/binary-writer.ts';
import { nativeEncoderOf } from '../values/native.ts';
import type { AlgebraicType, NamedType, ProductType } from '../values/type.ts';
import { derivedIndexesOf, vectorsOf } from './derived-parts.ts';
import { declaredEnv, type EnvDeclaration } from './env.ts';
import { paramDefaultsOf } from './param-defaults.ts';
import { type AnyHandler, type Registration, registrationOf } from './registration.ts';
import { routesOf } from './router.ts';
import { declaredCron, declaredDelivery, declaredPolicy } from './schedule-policy.ts';

/** The parts of a schema object that `describeModule` reads. */
export interface SchemaParts {
  readonly tables: ReadonlyMap<string, DeclaredTable>;
  readonly submodules: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
  readonly caseConversion: RawModule['caseConversion'];
  readonly declaredEnv: EnvDeclaration | undefined;
}

/** A module's definition as published, with everything needed to run it. */
export interface ModulePlan {
  readonly raw: RawModule;
  readonly registry: TypeRegistry;
  readonly tables: readonly PlannedTable[];
  readonly reducers: readonly PlannedReducer[];
  readonly procedures: readonly PlannedProcedure[];
  readonly handlers: readonly PlannedHandler[];
  readonly views: readonly PlannedView[];
  readonly submodules: readonly { readonly namespace: string; readonly plan: ModulePlan }[];
}

export interface PlannedTable {
  readonly key: string;
  readonly table: DeclaredTable;
  readonly rowType: ProductType;
}

export interface PlannedReducer {
  readonly name: string;
  readonly params: ProductType;
  /** `undefined`: it returns nothing and rejects calls with a message. */
  readonly returns: AlgebraicType | undefined;
  readonly throws: AlgebraicType | undefined;
  readonly handler: AnyHandler;
}

export interface PlannedProcedure {
  readonly name: string;
  readonly params: ProductType;
  readonly returns: AlgebraicType;
  readonly handler: AnyHandler;
}

export interface PlannedHandler {
  readonly name: string;
  readonly auth: HandlerAuth;
  readonly handler: AnyHandler;
}

export interface PlannedView {
  readonly name: string;
  readonly isAnonymous: boolean;
  readonly shape: 'rows' | 'option';
  /** The type of one row; refs index the registry's typespace. */
  readonly rowType: AlgebraicType;
  readonly handler: AnyHandler;
}

type SchemaOf = (value: unknown) => SchemaParts | undefined;

/**
 * Reads a schema and the exports of its module. Tables come first, then exports by name, sorted by
 * code unit. Throws `TypeError` for exports that cannot be published.
 */
export function describeModule(
  schema: SchemaParts,
  namespace: Readonly<Record<string, unknown>>,
  schemaOf: SchemaOf,
  isRoot = true,
): ModulePlan {
  const description = new Description(schema);
  for (const [key, table] of schema.tables) description.addTable(key, table);
  for (const name of Object.keys(namespace).sort()) {
    if (name !== 'default') description.addExport(name, namespace[name], isRoot);
  }
  description.addSchedules();
  const submodules = [...schema.submodules].map(([key, inner]) => ({
    namespace: key,
    plan: describeModule(schemaOf(inner.default) as SchemaParts, inner, schemaOf, false),
  }));
  return description.finish(submodules, isRoot);
}

type Of<Kind extends Registration['kind']> = Extract<Registration, { readonly kind: Kind }>;

/** Collects the sections of one module. */
class Description {
  readonly #schema: SchemaParts;
  readonly #registry = new TypeRegistry();
  readonly #planned: PlannedTable[] = [];
  readonly #runnable: PlannedReducer[] = [];
  readonly #tables: RawTable[] = [];
  readonly #derivedIndexes: RawDerivedIndex[] = [];
  readonly #vectors: RawVector[] = [];
  readonly #reducers: RawReducer[] = [];
  readonly #procedures: RawProcedure[] = [];
  readonly #plannedProcedures: PlannedProcedure[] = [];
  readonly #views: RawView[] = [];
  readonly #plannedViews: PlannedView[] = [];
  readonly #viewKeys: { viewName: string; columns: string[] }[] = [];
  readonly #viewCounts = { sender: 0, anonymous: 0 };
  readonly #schedules: RawSchedule[] = [];
  readonly #scheduled: { table: unknown; functionName: string }[] = [];
  readonly #policies: RawSchedulePolicy[] = [];
  readonly #deliveries: RawScheduleDelivery[] = [];
  readonly #crons: RawCron[] = [];
  readonly #paramDefaults: RawParamDefault[] = [];
  #env: RawEnvName[] | undefined;
  readonly #lifecycle: RawModule['lifecycleReducers'][number][] = [];
  readonly #rowFilters: string[] = [];
  readonly #names: RawExplicitName[] = [];
  readonly #handlers = new Map<object, string>();
  readonly #plannedHandlers: PlannedHandler[] = [];
  readonly #handlerAuth: RawHandlerAuth[] = [];
  readonly #routers: Of<'httpRouter'>[] = [];
  /** Every exported function, for schedules that name one by value. */
  readonly #functions = new Map<unknown, string>();
  readonly #functionNames = new Set<string>();

  constructor(schema: SchemaParts) {
    this.#schema = schema;
    if (schema.declaredEnv !== undefined) this.#addEnv(schema.declaredEnv);
  }

  addTable(key: string, table: DeclaredTable): void {
    const rowTypeRef = this.#registry.rowRef(table.rowType, toPascalCase(table.tableName ?? key));
    const rowType = this.#registry.product(rowTypeRef);
    this.#planned.push({ key, table, rowType });
    this.#tables.push(rawTable(key, table, rowTypeRef, rowType, this.#registry));
    this.#derivedIndexes.push(...derivedIndexesOf(key, table));
    this.#vectors.push(...vectorsOf(key, table));
    if (table.tableName !== undefined) this.#addName('table', key, table.tableName);
    for (const { name, columns, algorithm } of table.idxs) {
      if (name !== undefined) {
        this.#addName('index', indexSourceName(key, columns, algorithm), name);
      }
    }
  }

  addExport(name: string, value: unknown, isRoot: boolean): void {
    const found = registrationOf(value);
    if (found === undefined) {
      if (!isRoot) return;
      const text = 'exporting something that is not a spacetime export';
      const advice = 'leave out its `export`, or make it with the schema, as by `db.reducer(…)`';
      throw new TypeError(`${text}\n\`${name}\` was not created by the schema: ${advice}`);
    }
    if (found.schema !== this.#schema) throw new TypeError('multiple schemas are not supported');
    const { registration } = found;
    switch (registration.kind) {
      case 'reducer':
        this.#addReducer(name, value, registration);
        break;
      case 'procedure':
        this.#addProcedure(name, value, registration);
        break;
      case 'view':
        this.#addView(name, registration);
        break;
      case 'httpHandler':
        this.#addHandler(name, registration);
        break;
      case 'httpRouter':
        this.#routers.push(registration);
        break;
      case 'env':
        this.#addEnv(registration.declaration);
        break;
      case 'rowFilter':
        this.#rowFilters.push(registration.sql);
        break;
      case 'group':
        for (const [key, member] of Object.entries(registration.members)) {
          this.addExport(key, member, true);
        }
    }
  }

  #addEnv(declaration: EnvDeclaration): void {
    if (this.#env !== undefined) {
      throw new TypeError('the env of a module is declared once: by `schema`, or by `db.env`');
    }
    this.#env = declaredEnv(declaration);
  }

  #addReducer(name: string, value: unknown, reducer: Of<'reducer'>): void {
    this.#claimFunction(name);
    this.#addSchedule(reducer.options.onSchedule, name);
    this.#addPolicy(name, reducer);
    nameFunction(reducer.handler, name);
    const paramsRef = this.#registry.productRef(reducer.params, toPascalCase(name));
    const params = this.#registry.product(paramsRef);
    this.#addDefaults(name, reducer.params, params);
    const { returns, throws } = this.#results(name, reducer.options);
    this.#reducers.push({
      sourceName: name,
      params,
      visibility: reducer.cron === undefined ? 'clientCallable' : 'private',
      okReturnType: returns ?? unit,
      errReturnType: throws ?? { kind: 'string' },
    });
    this.#runnable.push({ name, params, returns, throws, handler: reducer.handler });
    this.#functions.set(value, name);
    if (reducer.options.name !== undefined) this.#addName('function', name, reducer.options.name);
    if (reducer.lifecycle) this.#lifecycle.push({ event: reducer.lifecycle, functionName: name });
  }

  #addDefaults(functionName: string, declared: Columns, params: ProductType): void {
    const { typespace } = this.#registry;
    this.#paramDefaults.push(...paramDefaultsOf({ functionName, declared, params, typespace }));
  }

  /** Rejects a declared unit result or string error: these are the defaults. */
  #results(name: string, options: Of<'reducer'>['options']) {
    const returns = options.returns && this.#registry.typeOf(options.returns);
    const throws = options.throws && this.#registry.typeOf(options.throws);
    if (returns?.kind === 'product' && returns.elements.length === 0) {
      throw new TypeError(`reducer '${name}' returns t.unit(): leave \`returns\` out`);
    }
    if (throws?.kind === 'string') {
      throw new TypeError(
        `reducer '${name}' throws t.string(): leave \`throws\` out and throw SenderError`,
      );
    }
    return { returns, throws };
  }

  #addProcedure(exportName: string, value: unknown, procedure: Of<'procedure'>): void {
    const name = procedure.options.name ?? exportName;
    this.#claimFunction(name);
    this.#addSchedule(procedure.options.onSchedule, name);
    this.#addPolicy(name, procedure);
    this.#addDelivery(name, procedure);
    const elements = Object.entries(procedure.params).map(([key, builder]) => ({
      name: key,
      type: this.#registry.typeOf(builder),
    }));
    const params: ProductType = { kind: 'product', elements };
    this.#addDefaults(name, procedure.params, params);
    const returns = this.#registry.typeOf(procedure.returns);
    this.#procedures.push({
      sourceName: name,
      params,
      returnType: returns,
      visibility: 'clientCallable',
    });
    const { handler } = procedure;
    nameFunction(handler, name);
    this.#plannedProcedures.push({ name, params, returns, handler });
    this.#functions.set(value, name);
  }

  #addView(name: string, view: Of<'view'>): void {
    this.#claimFunction(name);
    const returnType = this.#registry.typeOf(view.returns);
    const paramsRef = this.#registry.productRef({}, toPascalCase(name));
    const counted = view.isAnonymous ? 'anonymous' : 'sender';
    this.#views.push({
      sourceName: name,
      index: this.#viewCounts[counted]++,
      isPublic: view.options.public === true,
      isAnonymous: view.isAnonymous,
      params: this.#registry.product(paramsRef),
      returnType,
    });
    nameFunction(view.handler, name);
    this.#plannedViews.push(this.#plannedView(name, view));
    const keys = viewKeys(view);
    if (keys.length > 1) {
      throw new TypeError(
        `View '${name}' can have at most one primaryKey() column on its returned row type; ` +
          `found ${keys.join(', ')}`,
      );
    }
    if (keys.length === 1) this.#viewKeys.push({ viewName: name, columns: keys });
    if (view.options.name !== undefined) this.#addName('function', name, view.options.name);
  }

  #plannedView(name: string, { returns, isAnonymous, handler }: Of<'view'>): PlannedView {
    const returned = resolved(returns);
    const isOption = returned.kind === 'option';
    // The host rejects anything but rows or an optional row.
    const row = isOption ? returned.inner : returned.kind === 'array' ? returned.element : returns;
    const rowType = this.#registry.typeOf(row);
    return { name, isAnonymous, shape: isOption ? 'option' : 'rows', rowType, handler };
  }

  #addHandler(name: string, handler: Of<'httpHandler'>): void {
    const known = this.#handlers.get(handler);
    if (known !== undefined) {
      throw new TypeError(`HTTP handler '${known}' was exported more than once`);
    }
    if ([...this.#handlers.values()].includes(name)) {
      throw new TypeError(`There is already an HTTP handler with the name '${name}'`);
    }
    nameFunction(handler.handler, name);
    const auth = declaredAuth(name, handler.options.auth);
    if (auth !== 'none') this.#handlerAuth.push({ handler: name, auth });
    this.#plannedHandlers.push({ name, auth, handler: handler.handler });
    this.#handlers.set(handler, name);
    if (handler.options.name !== undefined) this.#addName('function', name, handler.options.name);
  }

  #claimFunction(name: string): void {
    if (this.#functionNames.has(name)) {
      throw new TypeError(`There is already a reducer, procedure, or view with the name '${name}'`);
    }
    this.#functionNames.add(name);
  }

  #addName(kind: RawExplicitName['kind'], sourceName: string, canonicalName: string): void {
    this.#names.push({ kind, sourceName, canonicalName });
  }

  /**
   * Called before the parameters are registered: the row of a table outside the schema has no type
   * name.
   */
  #addSchedule(table: unknown, functionName: string): void {
    if (table === undefined) return;
    if (!this.#planned.some((planned) => planned.table === table)) {
      throw new TypeError('Schedule target table is not part of this schema.');
    }
    this.#scheduled.push({ table, functionName });
  }

  #addDelivery(functionName: string, { options }: Of<'procedure'>): void {
    const delivery = declaredDelivery(functionName, options);
    if (delivery !== undefined) this.#deliveries.push({ functionName, delivery });
  }

  #addPolicy(functionName: string, declared: Of<'reducer' | 'procedure'>): void {
    const { options } = declared;
    const cron = declared.kind === 'reducer' ? declared.cron : undefined;
    const policy = declaredPolicy(functionName, options);
    if (cron !== undefined) {
      this.#crons.push(declaredCron(functionName, cron, policy ?? defaultSchedulePolicy));
    } else if (policy !== undefined) {
      this.#policies.push({ functionName, policy });
    }
  }

  /** Binds tables to the functions that name them, then to the functions that the tables name. */
  addSchedules(): void {
    for (const { table, functionName } of this.#scheduled) {
      const keys = this.#planned.filter((planned) => planned.table === table);
      const [target] = keys;
      if (target === undefined || keys.length > 1) {
        throw new TypeError(
          'Schedule target table is registered more than once in this schema. ' +
            'Use a distinct table handle for each scheduled table.',
        );
      }
      const column = target.table.scheduleAtCol;
      if (column === undefined) {
        throw new TypeError(
          `Table ${target.key} defines a schedule, but it does not have a ScheduleAt column.`,
        );
      }
      this.#bindSchedule(target.key, column, functionName);
    }
    for (const { key, table } of this.#planned) {
      const column = table.scheduleAtCol;
      if (table.options.scheduled === undefined || column === undefined) continue;
      const functionName = this.#functions.get(table.options.scheduled());
      if (functionName === undefined) {
        throw new TypeError(
          `Table ${key} defines a schedule, but it seems like the associated function was not ` +
            'exported.',
        );
      }
      this.#bindSchedule(key, column, functionName);
    }
  }

  #bindSchedule(tableName: string, atColumn: number, functionName: string): void {
    const other = this.#schedules.find((schedule) => schedule.tableName === tableName);
    if (other?.functionName === functionName) return;
    if (other !== undefined) {
      throw new TypeError(
        `Table ${tableName} defines multiple schedules: ${other.functionName} and ` +
          `${functionName}. A schedule table can only be used by one reducer or procedure.`,
      );
    }
    this.#schedules.push({ sourceName: undefined, tableName, atColumn, functionName });
  }

  finish(submodules: ModulePlan['submodules'], isRoot: boolean): ModulePlan {
    const [first] = [...this.#crons, ...this.#policies, ...this.#deliveries];
    if (first !== undefined && !isRoot) {
      const what = 'is a cron or has `catchUp`, `retry` or `delivery`';
      throw new TypeError(`'${first.functionName}' ${what}, which a submodule cannot declare`);
    }
    const [derived] = this.#derivedIndexes;
    if (derived !== undefined && !isRoot) {
      const what = `has an index of kind '${derived.kind}'`;
      throw new TypeError(`table '${derived.tableName}' ${what}, which a submodule cannot declare`);
    }
    const [vector] = this.#vectors;
    if (vector !== undefined && !isRoot) {
      throw new TypeError(
        `table '${vector.tableName}' has a vector, which a submodule cannot declare`,
      );
    }
    const [guarded] = this.#handlerAuth;
    if (guarded !== undefined && !isRoot) {
      throw new TypeError(`'${guarded.handler}' has \`auth\`, which a submodule cannot declare`);
    }
    if (this.#env !== undefined && !isRoot) {
      throw new TypeError('a submodule declares env, which only the root module can declare');
    }
    const raw: RawModule = {
      ...emptyRawModule,
      typespace: this.#registry.typespace,
      types: this.#registry.definitions,
      tables: this.#tables,
      reducers: this.#reducers,
      procedures: this.#procedures,
      views: this.#views,
      schedules: this.#schedules,
      lifecycleReducers: this.#lifecycle,
      rowLevelSecurity: this.#rowFilters,
      caseConversion: this.#schema.caseConversion,
      explicitNames: this.#names,
      httpHandlers: [...this.#handlers.values()],
      httpRoutes: this.#routers.flatMap(({ router }) => this.#routes(router)),
      viewPrimaryKeys: this.#viewKeys,
      submodules: submodules.map(({ namespace, plan }) => ({ namespace, module: plan.raw })),
      schedulePolicies: this.#policies,
      scheduleDeliveries: this.#deliveries,
      crons: this.#crons,
      handlerAuth: this.#handlerAuth,
      env: this.#env ?? [],
      derivedIndexes: this.#derivedIndexes,
      vectors: this.#vectors,
      paramDefaults: this.#paramDefaults,
    };
    const plan = { raw, registry: this.#registry, submodules };
    return {
      ...plan,
      tables: this.#planned,
      reducers: this.#runnable,
      procedures: this.#plannedProcedures,
      handlers: this.#plannedHandlers,
      views: this.#plannedViews,
    };
  }

  #routes(router: Of<'httpRouter'>['router']): RawHttpRoute[] {
    return routesOf(router).map(({ method, path, handler }) => {
      const registration = registrationOf(handler)?.registration;
      const name = registration && this.#handlers.get(registration);
      if (name === undefined) {
        throw new TypeError(
          `HTTP route for path '${path}' refers to a handler that was not exported.`,
        );
      }
      return { handler: name, method, path };
    });
  }
}

const unit: AlgebraicType = { kind: 'product', elements: [] };

function rawTable(
  key: string,
  table: DeclaredTable,
  rowTypeRef: number,
  rowType: ProductType,
  registry: TypeRegistry,
): RawTable {
  const columns = Object.entries(table.columns).map(([name, builder]) => ({
    name,
    traits: columnOf(builder).traits,
  }));
  const positionOf = (column: string) => {
    const position = columns.findIndex(({ name }) => name === column);
    if (position >= 0) return position;
    throw new TypeError(`there is no column \`${column}\` in table \`${key}\` to index`);
  };
  const positions = (accepts: (traits: (typeof columns)[number]['traits']) => unknown) =>
    columns.flatMap(({ traits }, position) => (accepts(traits) ? [position] : []));
  return {
    sourceName: key,
    rowTypeRef,
    primaryKey: positions((traits) => traits.primaryKey),
    indexes: table.idxs.map((index) => ({
      sourceName: indexSourceName(key, index.columns, index.algorithm),
      accessorName: index.accessor,
      algorithm: index.algorithm,
      columns: index.columns.map(positionOf),
    })),
    constraints: table.constraints.map((constraint) => ({
      sourceName: constraint.name,
      columns: constraint.columns.map(positionOf),
    })),
    sequences: positions((traits) => traits.autoInc).map((column) => ({
      sourceName: undefined,
      column,
      start: undefined,
      minValue: undefined,
      maxValue: undefined,
      increment: 1n,
    })),
    tableType: 'user',
    access: table.options.public === true ? 'public' : 'private',
    defaultValues: columns.flatMap(({ traits }, column) => {
      if (traits.default === undefined) return [];
      const writer = new BinaryWriter(64);
      const { name, type } = rowType.elements[column] as NamedType;
      const encode = nativeEncoderOf(type, registry.typespace, `${key}.${name} default`);
      encode(writer, traits.default.value);
      return [{ column, value: writer.finish() }];
    }),
    isEvent: table.options.event === true,
  };
}

/** Columns of the returned row that are marked as its key. */
function viewKeys(view: Of<'view'>): string[] {
  const returns = resolved(view.returns);
  if (returns.kind !== 'array' && returns.kind !== 'option') return [];
  const row = returns.kind === 'array' ? returns.element : returns.inner;
  if (resolved(row).kind !== 'product') return [];
  return Object.entries(columnsOf(row)).flatMap(([name, b]) => (isPrimaryKey(b) ? [name] : []));
}

function declaredAuth(name: string, auth: unknown): HandlerAuth {
  if (auth === undefined) return 'none';
  if (auth === 'optional' || auth === 'required') return auth;
  throw new TypeError(`\`auth\` of HTTP handler '${name}' must be 'optional' or 'required'`);
}

/** Gives an anonymous handler the name of its export, for stack traces. */
function nameFunction(handler: AnyHandler, name: string): void {
  if (handler.name === '') Object.defineProperty(handler, 'name', { value: name });
}
