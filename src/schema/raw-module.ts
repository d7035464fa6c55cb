import type { AlgebraicType, ProductType, Typespace } from '../values/type.ts';
import type { DeclaredMigration } from './declared-step.ts';
import type {
  Delivery,
  DerivedIndexKind,
  DerivedIndexOption,
  HandlerAuth,
  IndexAlgorithm,
  Lifecycle,
  SchedulePolicy,
} from './definition.ts';

/**
 * A module's description of itself, before any check: names as the module spells them, references
 * by position or by the module's own names. `docs/format/module-definition.md` gives the bytes.
 *
 * Both formats share this shape. A version 9 description has `caseConversion: 'none'`, its
 * schedules, lifecycle reducers and defaults moved to where version 10 keeps them, and nothing in
 * the parts that version 10 added. This file and the encoder travel inside user modules.
 */
export interface RawModule {
  readonly version: 9 | 10;
  readonly typespace: Typespace;
  readonly types: readonly RawTypeDefinition[];
  readonly tables: readonly RawTable[];
  readonly reducers: readonly RawReducer[];
  readonly procedures: readonly RawProcedure[];
  readonly views: readonly RawView[];
  readonly schedules: readonly RawSchedule[];
  readonly lifecycleReducers: readonly RawLifecycleReducer[];
  /** SQL texts. */
  readonly rowLevelSecurity: readonly string[];
  readonly caseConversion: CaseConversion;
  readonly explicitNames: readonly RawExplicitName[];
  /** Source names. */
  readonly httpHandlers: readonly string[];
  readonly httpRoutes: readonly RawHttpRoute[];
  readonly viewPrimaryKeys: readonly RawViewPrimaryKey[];
  readonly submodules: readonly RawSubmodule[];
  /** Declared policies of scheduled functions. A submodule has none. */
  readonly schedulePolicies: readonly RawSchedulePolicy[];
  /** Declared deliveries of scheduled procedures. A submodule has none. */
  readonly scheduleDeliveries: readonly RawScheduleDelivery[];
  /** A submodule has none. */
  readonly crons: readonly RawCron[];
  /** Handlers that look at tokens. A submodule has none. */
  readonly handlerAuth: readonly RawHandlerAuth[];
  /** Names of the configuration that the module reads. A submodule has none. */
  readonly env: readonly RawEnvName[];
  /** Indexes of what is derived from a column. A submodule has none. */
  readonly derivedIndexes: readonly RawDerivedIndex[];
  /** Columns of vectors. A submodule has none. */
  readonly vectors: readonly RawVector[];
  /** What parameters get that calls leave out. A submodule has those of its own functions. */
  readonly paramDefaults: readonly RawParamDefault[];
  /** Migrations, in their order. A submodule has none; `migrationsBlock` writes them. */
  readonly migrations: readonly DeclaredMigration[];
  /** Version 9 only: nonexistent tables named by a column default. */
  readonly strayDefaultTables: readonly string[];
}

export type CaseConversion = 'none' | 'snakeCase';

export interface RawTypeDefinition {
  readonly scope: readonly string[];
  readonly sourceName: string;
  /** Index into the typespace. */
  readonly ref: number;
  readonly customOrdering: boolean;
}

export interface RawTable {
  readonly sourceName: string;
  readonly rowTypeRef: number;
  /** Column positions; none or one in a valid definition. */
  readonly primaryKey: readonly number[];
  readonly indexes: readonly RawIndex[];
  readonly constraints: readonly RawConstraint[];
  readonly sequences: readonly RawSequence[];
  readonly tableType: 'system' | 'user';
  readonly access: 'public' | 'private';
  readonly defaultValues: readonly RawDefaultValue[];
  readonly isEvent: boolean;
}

export interface RawIndex {
  readonly sourceName: string | undefined;
  readonly accessorName: string | undefined;
  readonly algorithm: IndexAlgorithm;
  /** Column positions in index order; exactly one for `direct`. */
  readonly columns: readonly number[];
}

export interface RawConstraint {
  readonly sourceName: string | undefined;
  /** Columns that are unique together. */
  readonly columns: readonly number[];
}

export interface RawSequence {
  readonly sourceName: string | undefined;
  readonly column: number;
  readonly start: bigint | undefined;
  readonly minValue: bigint | undefined;
  readonly maxValue: bigint | undefined;
  readonly increment: bigint;
}

export interface RawDefaultValue {
  readonly column: number;
  /** One encoded value of the column's type. */
  readonly value: Uint8Array;
}

export interface RawReducer {
  readonly sourceName: string;
  readonly params: ProductType;
  readonly visibility: FunctionVisibility;
  readonly okReturnType: AlgebraicType;
  readonly errReturnType: AlgebraicType;
}

export type FunctionVisibility = 'private' | 'clientCallable';

export interface RawProcedure {
  readonly sourceName: string;
  readonly params: ProductType;
  readonly returnType: AlgebraicType;
  readonly visibility: FunctionVisibility;
}

export interface RawView {
  readonly sourceName: string;
  /** Counted separately among sender views and among anonymous views. */
  readonly index: number;
  readonly isPublic: boolean;
  readonly isAnonymous: boolean;
  readonly params: ProductType;
  readonly returnType: AlgebraicType;
}

export interface RawSchedule {
  readonly sourceName: string | undefined;
  /** Source name. */
  readonly tableName: string;
  readonly atColumn: number;
  /** Source name of a reducer or procedure. */
  readonly functionName: string;
}

export interface RawSchedulePolicy {
  /** Source name of a function that a schedule runs. */
  readonly functionName: string;
  readonly policy: SchedulePolicy;
}

export interface RawScheduleDelivery {
  /** Source name of a procedure that a schedule runs. */
  readonly functionName: string;
  readonly delivery: Delivery;
}

/** Runs a reducer with one parameter, its due time. */
export interface RawCron {
  /** Source name of a reducer. */
  readonly functionName: string;
  readonly expression: string;
  readonly timeZone: string | undefined;
  readonly policy: SchedulePolicy;
}

export interface RawHandlerAuth {
  /** Source name of a handler. */
  readonly handler: string;
  readonly auth: Exclude<HandlerAuth, 'none'>;
}

/** A value of the database's configuration that the module reads. */
export interface RawEnvName {
  readonly name: string;
  readonly type: AlgebraicType;
  readonly isSecret: boolean;
  /** True: it need not be set. */
  readonly isOptional: boolean;
}

export interface RawDerivedIndex {
  /** Source name. */
  readonly tableName: string;
  readonly column: number;
  readonly kind: DerivedIndexKind;
  readonly options: readonly DerivedIndexOption[];
}

/** A column whose values are vectors of one length. */
export interface RawVector {
  /** Source name. */
  readonly tableName: string;
  /** Position of an array of `F32`, or of an option of one. */
  readonly column: number;
  readonly length: number;
}

/** What a parameter gets where a call leaves it out. */
export interface RawParamDefault {
  /** Source name of a reducer or procedure. */
  readonly functionName: string;
  /** Position of the parameter. */
  readonly param: number;
  /** One encoded value of its type. */
  readonly value: Uint8Array;
}

export interface RawLifecycleReducer {
  readonly event: Lifecycle;
  /** Source name. */
  readonly functionName: string;
}

export interface RawExplicitName {
  readonly kind: 'table' | 'function' | 'index';
  readonly sourceName: string;
  readonly canonicalName: string;
}

export interface RawHttpRoute {
  /** Source name of a handler. */
  readonly handler: string;
  /** `GET`, `POST`, … or an extension method; `undefined` matches every method. */
  readonly method: string | undefined;
  readonly path: string;
}

export interface RawViewPrimaryKey {
  /** Source name. */
  readonly viewName: string;
  /** Source names. */
  readonly columns: readonly string[];
}

export interface RawSubmodule {
  readonly namespace: string;
  readonly module: RawModule;
}

/** The wire tags of section kinds. */
export const sectionTags = {
  typespace: 0,
  types: 1,
  tables: 2,
  reducers: 3,
  procedures: 4,
  views: 5,
  schedules: 6,
  lifecycleReducers: 7,
  rowLevelSecurity: 8,
  caseConversion: 9,
  explicitNames: 10,
  httpHandlers: 11,
  httpRoutes: 12,
  viewPrimaryKeys: 13,
  submodules: 14,
} as const;

/** What the extension begins with, behind the sections: the text `RDBX`. */
export const extensionMagic: readonly number[] = [0x52, 0x44, 0x42, 0x58];

export const extensionVersion = 1;

/** The wire tags of the blocks of the extension; 8 is taken. */
export const extensionTags = {
  schedulePolicies: 1,
  crons: 2,
  handlerAuth: 3,
  env: 4,
  scheduleDeliveries: 5,
  derivedIndexes: 6,
  vectors: 7,
  migrations: 8,
  paramDefaults: 9,
} as const;

/** What happens to missed times, in the order of the wire tags. */
export const catchUpKinds = ['skip', 'once', 'all'] as const;

/** How handlers look at tokens, in the order of the wire tags. */
export const handlerAuthKinds = ['optional', 'required'] as const;

/** How often a scheduled procedure runs at most, or at least, in the order of the wire tags. */
export const deliveryKinds = ['atMostOnce', 'atLeastOnce'] as const;

/** Kinds of derived indexes, in the order of the wire tags. */
export const derivedIndexKinds = ['inverted', 'text', 'vector'] as const;

/** HTTP methods in the order of their wire tags; any other method is an extension, tag 9. */
export const httpMethods = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'DELETE',
  'CONNECT',
  'OPTIONS',
  'TRACE',
  'PATCH',
] as const;

/** An empty description, as a starting point. */
export const emptyRawModule: RawModule = {
  version: 10,
  typespace: { types: [] },
  types: [],
  tables: [],
  reducers: [],
  procedures: [],
  views: [],
  schedules: [],
  lifecycleReducers: [],
  rowLevelSecurity: [],
  caseConversion: 'snakeCase',
  explicitNames: [],
  httpHandlers: [],
  httpRoutes: [],
  viewPrimaryKeys: [],
  submodules: [],
  schedulePolicies: [],
  scheduleDeliveries: [],
  crons: [],
  handlerAuth: [],
  env: [],
  derivedIndexes: [],
  vectors: [],
  paramDefaults: [],
  migrations: [],
  strayDefaultTables: [],
};
