import type { ConnectionId } from '../values/connection-id.ts';
import type { Identity } from '../values/identity.ts';
import type { ScheduleAt } from '../values/schedule-at.ts';
import type { TimeDuration } from '../values/time-duration.ts';
import type { Timestamp } from '../values/timestamp.ts';
import type { Uuid } from '../values/uuid.ts';
import type { Builder, Column, Traits } from './builder.ts';
import { type BuilderClass, columnClass, typeClass } from './builder-class.ts';
import type { KeyModifier, TextModifier, ValueModifier } from './composite.ts';

/**
 * The type `t.bool()`.
 *
 * @example
 * ```ts
 * const type: BoolBuilder = t.bool();
 * ```
 */
export type BoolBuilder = Builder<boolean, boolean, KeyModifier>;
/** The class of `t.bool()`: `t.bool() instanceof BoolBuilder`. */
export const BoolBuilder: BuilderClass<BoolBuilder> = /*#__PURE__*/ typeClass('Bool');
/**
 * A column of type `t.bool()`.
 *
 * @example
 * ```ts
 * const isColumn = t.bool().unique() instanceof BoolColumnBuilder;
 * ```
 */
export type BoolColumnBuilder<Known extends Traits = Traits> = Column<
  boolean,
  boolean,
  Known,
  KeyModifier
>;
/** The class of columns of type `t.bool()`. */
export const BoolColumnBuilder: BuilderClass<BoolColumnBuilder> = /*#__PURE__*/ columnClass('Bool');

/**
 * The type `t.string()`.
 *
 * @example
 * ```ts
 * const type: StringBuilder = t.string();
 * ```
 */
export type StringBuilder = Builder<string, string, TextModifier>;
/** The class of `t.string()`: `t.string() instanceof StringBuilder`. */
export const StringBuilder: BuilderClass<StringBuilder> = /*#__PURE__*/ typeClass('String');
/**
 * A column of type `t.string()`.
 *
 * @example
 * ```ts
 * const isColumn = t.string().unique() instanceof StringColumnBuilder;
 * ```
 */
export type StringColumnBuilder<Known extends Traits = Traits> = Column<
  string,
  string,
  Known,
  TextModifier
>;
/** The class of columns of type `t.string()`. */
export const StringColumnBuilder: BuilderClass<StringColumnBuilder> =
  /*#__PURE__*/ columnClass('String');

/**
 * The type `t.identity()`.
 *
 * @example
 * ```ts
 * const type: IdentityBuilder = t.identity();
 * ```
 */
export type IdentityBuilder = Builder<Identity, Identity, KeyModifier>;
/** The class of `t.identity()`: `t.identity() instanceof IdentityBuilder`. */
export const IdentityBuilder: BuilderClass<IdentityBuilder> = /*#__PURE__*/ typeClass('Identity');
/**
 * A column of type `t.identity()`.
 *
 * @example
 * ```ts
 * const isColumn = t.identity().unique() instanceof IdentityColumnBuilder;
 * ```
 */
export type IdentityColumnBuilder<Known extends Traits = Traits> = Column<
  Identity,
  Identity,
  Known,
  KeyModifier
>;
/** The class of columns of type `t.identity()`. */
export const IdentityColumnBuilder: BuilderClass<IdentityColumnBuilder> =
  /*#__PURE__*/ columnClass('Identity');

/**
 * The type `t.connectionId()`.
 *
 * @example
 * ```ts
 * const type: ConnectionIdBuilder = t.connectionId();
 * ```
 */
export type ConnectionIdBuilder = Builder<ConnectionId, ConnectionId, KeyModifier>;
/** The class of `t.connectionId()`: `t.connectionId() instanceof ConnectionIdBuilder`. */
export const ConnectionIdBuilder: BuilderClass<ConnectionIdBuilder> =
  /*#__PURE__*/ typeClass('ConnectionId');
/**
 * A column of type `t.connectionId()`.
 *
 * @example
 * ```ts
 * const isColumn = t.connectionId().unique() instanceof ConnectionIdColumnBuilder;
 * ```
 */
export type ConnectionIdColumnBuilder<Known extends Traits = Traits> = Column<
  ConnectionId,
  ConnectionId,
  Known,
  KeyModifier
>;
/** The class of columns of type `t.connectionId()`. */
export const ConnectionIdColumnBuilder: BuilderClass<ConnectionIdColumnBuilder> =
  /*#__PURE__*/ columnClass('ConnectionId');

/**
 * The type `t.timestamp()`.
 *
 * @example
 * ```ts
 * const type: TimestampBuilder = t.timestamp();
 * ```
 */
export type TimestampBuilder = Builder<Timestamp, Timestamp, KeyModifier>;
/** The class of `t.timestamp()`: `t.timestamp() instanceof TimestampBuilder`. */
export const TimestampBuilder: BuilderClass<TimestampBuilder> =
  /*#__PURE__*/ typeClass('Timestamp');
/**
 * A column of type `t.timestamp()`.
 *
 * @example
 * ```ts
 * const isColumn = t.timestamp().unique() instanceof TimestampColumnBuilder;
 * ```
 */
export type TimestampColumnBuilder<Known extends Traits = Traits> = Column<
  Timestamp,
  Timestamp,
  Known,
  KeyModifier
>;
/** The class of columns of type `t.timestamp()`. */
export const TimestampColumnBuilder: BuilderClass<TimestampColumnBuilder> =
  /*#__PURE__*/ columnClass('Timestamp');

/**
 * The type `t.timeDuration()`.
 *
 * @example
 * ```ts
 * const type: TimeDurationBuilder = t.timeDuration();
 * ```
 */
export type TimeDurationBuilder = Builder<TimeDuration, TimeDuration, KeyModifier>;
/** The class of `t.timeDuration()`: `t.timeDuration() instanceof TimeDurationBuilder`. */
export const TimeDurationBuilder: BuilderClass<TimeDurationBuilder> =
  /*#__PURE__*/ typeClass('TimeDuration');
/**
 * A column of type `t.timeDuration()`.
 *
 * @example
 * ```ts
 * const isColumn = t.timeDuration().unique() instanceof TimeDurationColumnBuilder;
 * ```
 */
export type TimeDurationColumnBuilder<Known extends Traits = Traits> = Column<
  TimeDuration,
  TimeDuration,
  Known,
  KeyModifier
>;
/** The class of columns of type `t.timeDuration()`. */
export const TimeDurationColumnBuilder: BuilderClass<TimeDurationColumnBuilder> =
  /*#__PURE__*/ columnClass('TimeDuration');

/**
 * The type `t.uuid()`.
 *
 * @example
 * ```ts
 * const type: UuidBuilder = t.uuid();
 * ```
 */
export type UuidBuilder = Builder<Uuid, Uuid, KeyModifier>;
/** The class of `t.uuid()`: `t.uuid() instanceof UuidBuilder`. */
export const UuidBuilder: BuilderClass<UuidBuilder> = /*#__PURE__*/ typeClass('Uuid');
/**
 * A column of type `t.uuid()`.
 *
 * @example
 * ```ts
 * const isColumn = t.uuid().unique() instanceof UuidColumnBuilder;
 * ```
 */
export type UuidColumnBuilder<Known extends Traits = Traits> = Column<
  Uuid,
  Uuid,
  Known,
  KeyModifier
>;
/** The class of columns of type `t.uuid()`. */
export const UuidColumnBuilder: BuilderClass<UuidColumnBuilder> = /*#__PURE__*/ columnClass('Uuid');

/**
 * The type `t.scheduleAt()`.
 *
 * @example
 * ```ts
 * const type: ScheduleAtBuilder = t.scheduleAt();
 * ```
 */
export type ScheduleAtBuilder = Builder<ScheduleAt, ScheduleAt, ValueModifier>;
/** The class of `t.scheduleAt()`: `t.scheduleAt() instanceof ScheduleAtBuilder`. */
export const ScheduleAtBuilder: BuilderClass<ScheduleAtBuilder> =
  /*#__PURE__*/ typeClass('ScheduleAt');
/**
 * A column of type `t.scheduleAt()`.
 *
 * @example
 * ```ts
 * const isColumn = t.scheduleAt().name('x') instanceof ScheduleAtColumnBuilder;
 * ```
 */
export type ScheduleAtColumnBuilder<Known extends Traits = Traits> = Column<
  ScheduleAt,
  ScheduleAt,
  Known,
  ValueModifier
>;
/** The class of columns of type `t.scheduleAt()`. */
export const ScheduleAtColumnBuilder: BuilderClass<ScheduleAtColumnBuilder> =
  /*#__PURE__*/ columnClass('ScheduleAt');
