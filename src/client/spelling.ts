/**
 * The client's spelling of a module's names. Types and columns are sent under their database names,
 * which do not show how the module wrote them; so a client spells fields in camel case and variants
 * in Pascal case, as generated bindings do. The types of the module are converted accordingly:
 *
 * | module | client |
 * |---|---|
 * | `line_no`, `lineNo` | `lineNo` |
 * | `userID` | `userId` |
 * | `active`, `Active` | `Active` |
 */
import type { ColumnBuilder, TypeBuilder } from '../declare/builder.ts';
import type { Columns } from '../declare/infer.ts';
import type { TableOptions, TableSchema } from '../declare/table.ts';
import type { ConnectionId } from '../values/connection-id.ts';
import type { Identity } from '../values/identity.ts';
import type { TimeDuration } from '../values/time-duration.ts';
import type { Timestamp } from '../values/timestamp.ts';
import type { Uuid } from '../values/uuid.ts';
import type { Accessor } from './accessor-type.ts';

/** Whether names in the database are in snake case or as in the module. */
export type Policy = 'snakeCase' | 'none';

/** A table with its columns as a client spells them. */
export type SpelledTable<Table, P extends Policy> =
  Table extends TableSchema<infer C, infer Options>
    ? TableSchema<SpelledColumns<C, P>, SpelledOptions<Options, P>>
    : never;

export type SpelledColumns<C extends Columns, P extends Policy> = {
  readonly [Key in keyof C & string as SpelledField<Key, P>]: SpelledBuilder<C[Key], P>;
};

/** Parameters keep the module's spelling in the database, whatever the policy. */
export type SpelledParams<C extends Columns, P extends Policy> = {
  readonly [Key in keyof C & string as Accessor<Key>]: SpelledBuilder<C[Key], P>;
};

type SpelledBuilder<B, P extends Policy> =
  B extends ColumnBuilder<infer Out, infer In, infer Traits>
    ? ColumnBuilder<Spelled<Out, P>, Spelled<In, P>, Traits>
    : B extends TypeBuilder<infer Out, infer In, any>
      ? TypeBuilder<Spelled<Out, P>, Spelled<In, P>, any>
      : never;

/** Options name columns, too; accessors of indexes keep their spelling. */
type SpelledOptions<Options extends TableOptions, P extends Policy> = {
  readonly [Key in keyof Options]: Key extends 'indexes' | 'constraints'
    ? SpelledEntries<Options[Key], P>
    : Options[Key];
} extends infer Spelt extends TableOptions
  ? Spelt
  : never;

type SpelledEntries<Entries, P extends Policy> = {
  readonly [At in keyof Entries]: {
    readonly [Key in keyof Entries[At]]: Key extends 'column' | 'columns'
      ? SpelledNames<Entries[At][Key], P>
      : Entries[At][Key];
  };
};

type SpelledNames<Names, P extends Policy> = Names extends string
  ? SpelledField<Names, P>
  : { readonly [At in keyof Names]: SpelledNames<Names[At], P> };

/** Values without parts, or whose parts are internal. */
type Atom =
  | string
  | number
  | bigint
  | boolean
  | Uint8Array
  | Identity
  | ConnectionId
  | Timestamp
  | TimeDuration
  | Uuid;

/** A value of the module, as clients see it. */
export type Spelled<Value, P extends Policy> = 0 extends 1 & Value
  ? Value
  : Value extends Atom
    ? Value
    : Value extends readonly unknown[]
      ? { [At in keyof Value]: Spelled<Value[At], P> }
      : Value extends { readonly tag: infer Tag extends string }
        ? string extends Tag
          ? SpelledFields<Value, P>
          : SpelledVariant<Value, Tag, P>
        : Value extends object
          ? SpelledFields<Value, P>
          : Value;

type SpelledFields<Value, P extends Policy> = {
  [Key in keyof Value as Key extends string ? SpelledField<Key, P> : Key]: Spelled<Value[Key], P>;
};

type SpelledVariant<Value, Tag extends string, P extends Policy> = {
  [Key in keyof Value]: Key extends 'tag'
    ? Capitalize<SpelledField<Tag, P>>
    : Spelled<Value[Key], P>;
};

type SpelledField<Name extends string, P extends Policy> = P extends 'none'
  ? Accessor<Name>
  : string extends Name
    ? Name
    : Words<Name>;

/** Words in camel case, as `schema/case-conversion.ts` finds them. */
type Words<
  Text extends string,
  Before extends Kind | 'start' | 'gap' = 'start',
  Done extends string = '',
> = Text extends `${infer Letter}${infer Rest}`
  ? Letter extends '_' | '-' | ' '
    ? Words<Rest, Done extends '' ? 'start' : 'gap', Done>
    : Words<
        Rest,
        KindOf<Letter>,
        `${Done}${StartsWord<Before, KindOf<Letter>, Rest> extends true
          ? Uppercase<Letter>
          : Lowercase<Letter>}`
      >
  : Done;

type Kind = 'lower' | 'upper' | 'digit' | 'other';

type KindOf<Letter extends string> = Letter extends `${bigint}`
  ? 'digit'
  : Lowercase<Letter> extends Uppercase<Letter>
    ? 'other'
    : Letter extends Uppercase<Letter>
      ? 'upper'
      : 'lower';

type StartsWord<Before extends string, Here extends Kind, Rest extends string> = Before extends
  | 'start'
  | 'other'
  ? false
  : [Before, Here] extends ['lower', 'lower' | 'other'] | ['digit', 'digit' | 'other']
    ? false
    : [Before, Here] extends ['upper', 'lower' | 'other']
      ? false
      : [Before, Here] extends ['upper', 'upper']
        ? Rest extends `${infer Next}${string}`
          ? KindOf<Next> extends 'lower'
            ? true
            : false
          : false
        : true;
