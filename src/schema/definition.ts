import type {
  AlgebraicType,
  NamedType,
  ProductType,
  ScalarKind,
  Typespace,
} from '../values/type.ts';
import type { DeclaredMigration } from './declared-step.ts';

/**
 * A module's definition after validation: canonical names everywhere, the module's own spelling
 * kept beside each as `sourceName`, functions numbered by position. Only `validate.ts` creates it.
 */
export interface ModuleDefinition {
  /** Format the module described itself in. */
  readonly version: 9 | 10;
  /** Field and variant names are canonical. */
  readonly typespace: Typespace;
  /** The same types under the same refs, fields and variants as the module spells them. */
  readonly sourceTypespace: Typespace;
  /** Types that have a name of their own for clients, in definition order. */
  readonly types: readonly TypeDefinition[];
  /** Ascending by canonical name. */
  readonly tables: readonly TableDefinition[];
  /** Position = the id that the call hook takes. */
  readonly reducers: readonly ReducerDefinition[];
  readonly procedures: readonly ProcedureDefinition[];
  readonly views: readonly ViewDefinition[];
  /** Position = the id that the handler hook takes. */
  readonly httpHandlers: readonly HttpHandlerDefinition[];
  readonly httpRoutes: readonly HttpRouteDefinition[];
  readonly rowLevelSecurity: readonly string[];
  /** Schedules without a table, ascending by name. */
  readonly crons: readonly CronDefinition[];
  /** Names of the configuration that it reads, ascending. */
  readonly env: readonly EnvDefinition[];
  /** Those that the module declares, in their order; a submodule has none. */
  readonly migrations: readonly MigrationDefinition[];
  readonly submodules: readonly { readonly namespace: string; readonly module: ModuleDefinition }[];
}

export interface TypeDefinition {
  readonly scope: readonly string[];
  readonly name: string;
  readonly sourceScope: readonly string[];
  readonly sourceName: string;
  readonly ref: number;
  readonly customOrdering: boolean;
}

export interface TableDefinition {
  readonly name: string;
  readonly sourceName: string;
  readonly rowTypeRef: number;
  readonly columns: readonly ColumnDefinition[];
  /** Position of the primary key column. */
  readonly primaryKey: number | undefined;
  readonly indexes: readonly IndexDefinition[];
  readonly constraints: readonly UniqueConstraintDefinition[];
  readonly sequences: readonly SequenceDefinition[];
  readonly derivedIndexes: readonly DerivedIndexDefinition[];
  readonly schedule: ScheduleDefinition | undefined;
  readonly tableType: 'system' | 'user';
  readonly access: 'public' | 'private';
  readonly isEvent: boolean;
}

export interface ColumnDefinition {
  readonly name: string;
  readonly sourceName: string;
  /** Can hold refs into the definition's typespace. */
  readonly type: AlgebraicType;
  /** Encoded value that a migration gives to existing rows. */
  readonly defaultBytes: Uint8Array | undefined;
  /** Its values are vectors of so many `F32`. */
  readonly vectorLength?: number;
}

export type IndexAlgorithm = 'btree' | 'hash' | 'direct';

export interface IndexDefinition {
  readonly name: string;
  readonly sourceName: string;
  readonly accessorName: string | undefined;
  readonly algorithm: IndexAlgorithm;
  /** Column positions in index order. */
  readonly columns: readonly number[];
  /** True when a unique constraint covers exactly this set of columns. */
  readonly isUnique: boolean;
}

/** Kinds of indexes over what is derived from one column, such as the elements of an array. */
export type DerivedIndexKind = 'inverted' | 'text' | 'vector';

/** An index that finds rows by what is derived from one column, among others perhaps. */
export interface DerivedIndexDefinition {
  readonly name: string;
  readonly kind: DerivedIndexKind;
  /** Position of the column. */
  readonly column: number;
  /** What the kind was told, ascending by name. */
  readonly options: readonly DerivedIndexOption[];
}

export interface DerivedIndexOption {
  readonly name: string;
  readonly value: string;
}

export interface UniqueConstraintDefinition {
  readonly name: string;
  readonly columns: readonly number[];
}

export interface SequenceDefinition {
  readonly name: string;
  readonly column: number;
  readonly start: bigint | undefined;
  readonly minValue: bigint | undefined;
  readonly maxValue: bigint | undefined;
  readonly increment: bigint;
}

export interface ScheduleDefinition {
  readonly name: string;
  /** Position of the ScheduleAt column. */
  readonly atColumn: number;
  /** Canonical name of the reducer or procedure. */
  readonly functionName: string;
  readonly target: 'reducer' | 'procedure';
  /** Of a procedure; `atMostOnce` is the default. */
  readonly delivery: Delivery | undefined;
  readonly policy: SchedulePolicy;
}

/**
 * What a crash does to a run of a scheduled procedure. `atMostOnce`: its due time is used up before
 * it runs. `atLeastOnce`: its due time is used up once it has returned; until then it is repeated.
 */
export type Delivery = 'atMostOnce' | 'atLeastOnce';

/** A reducer that runs at the times of an expression. */
export interface CronDefinition {
  /** Canonical name of the reducer, and of the schedule. */
  readonly name: string;
  readonly sourceName: string;
  readonly expression: string;
  /** Name of an IANA time zone; `undefined`: UTC. */
  readonly timeZone: string | undefined;
  readonly policy: SchedulePolicy;
}

/** A value of the database's configuration that a module reads. Values are set as texts. */
export interface EnvDefinition {
  readonly name: string;
  /** What the text is converted to. */
  readonly kind: ScalarKind;
  /** True: only procedures and HTTP handlers can read it, and nobody can read it back. */
  readonly isSecret: boolean;
  /** True: it need not be set. */
  readonly isOptional: boolean;
}

/** A migration whose definition before is valid; its steps are checked when it is planned. */
export interface MigrationDefinition extends DeclaredMigration {
  /** What `before` holds. */
  readonly from: ModuleDefinition;
  /** Schema hash of `from`. */
  readonly fromHash: string;
}

/** What happens to runs that were missed, and to runs that fail. */
export interface SchedulePolicy {
  /** Of the times that passed while the database was down: none, the last, or each one runs. */
  readonly catchUp: 'skip' | 'once' | 'all';
  /** `undefined`: a run that fails is not repeated. */
  readonly retry: RetryPolicy | undefined;
}

export interface RetryPolicy {
  /** Runs in all, the first one included. */
  readonly attempts: number;
  /** Delay before the second run, in microseconds; it doubles each time. */
  readonly backoffMicros: bigint;
}

/** The policy of a schedule that declares none. */
export const defaultSchedulePolicy: SchedulePolicy = { catchUp: 'skip', retry: undefined };

export type Lifecycle = 'init' | 'onConnect' | 'onDisconnect';

export type ParamDefaults = readonly (Uint8Array | undefined)[];

export interface ReducerDefinition {
  readonly name: string;
  readonly sourceName: string;
  /** Parameter names are verbatim; types can hold refs. */
  readonly params: ProductType;
  /** By position, an encoded value for what a call leaves out; absent if there is none. */
  readonly paramDefaults?: ParamDefaults;
  /** Type of the returned value; `undefined` if it returns nothing. Can hold refs. */
  readonly returns: AlgebraicType | undefined;
  /** Type of the error value; `undefined` if its errors are texts. Can hold refs. */
  readonly throws: AlgebraicType | undefined;
  readonly lifecycle: Lifecycle | undefined;
  /** `private`: lifecycle and scheduled reducers; only the owner may call the latter. */
  readonly visibility: 'private' | 'clientCallable';
}

export interface ProcedureDefinition {
  readonly name: string;
  readonly sourceName: string;
  readonly params: ProductType;
  readonly paramDefaults?: ParamDefaults;
  readonly returnType: AlgebraicType;
  readonly visibility: 'private' | 'clientCallable';
}

export interface ViewDefinition {
  readonly name: string;
  readonly sourceName: string;
  readonly index: number;
  readonly isPublic: boolean;
  readonly isAnonymous: boolean;
  readonly params: ProductType;
  readonly returnType: AlgebraicType;
  /** Columns of its rows. */
  readonly columns: readonly ViewColumnDefinition[];
  /** Column of the returned row that is its key. */
  readonly primaryKey: string | undefined;
}

export interface ViewColumnDefinition {
  readonly name: string;
  readonly sourceName: string;
  /** Can hold refs into the definition's typespace. */
  readonly type: AlgebraicType;
}

export interface HttpHandlerDefinition {
  readonly name: string;
  readonly sourceName: string;
  readonly auth: HandlerAuth;
}

/** Whether a handler looks at the token of a request: `none` passes it on unread. */
export type HandlerAuth = 'none' | 'optional' | 'required';

export interface HttpRouteDefinition {
  /** Canonical name of a handler. */
  readonly handler: string;
  /** `undefined` matches any method. */
  readonly method: string | undefined;
  /** Literal, or with parameters: see `route-path.ts`. */
  readonly path: string;
}

export type { AlgebraicType, NamedType, ProductType, Typespace };
