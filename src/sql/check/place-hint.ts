import { integerRange, isIntegerKind } from '../../values/integer-range.ts';
import { specialKindOf } from '../../values/special-types.ts';
import type { AlgebraicType } from '../../values/type.ts';
import { resolveType } from '../../values/typespace.ts';
import { optionInnerType } from '../functions/convert.ts';
import { bareVariants, variantsText } from '../functions/enum.ts';
import { isNumericType } from '../functions/value-kind.ts';
import type { Environment } from './context.ts';

/** What to write for a value of `type` in one kind of place. */
export type HintOf = (type: AlgebraicType, environment: Environment) => string | undefined;

/** A hint on what to write where a value of this type is expected, or compared with a literal. */
export function placeHint(type: AlgebraicType, environment: Environment): string | undefined {
  if (isIntegerKind(type.kind)) {
    const { min, max } = integerRange[type.kind];
    return `Expected a whole number from ${min} to ${max}`;
  }
  const special = specialKindOf(type);
  switch (special) {
    case 'timestamp':
      return "Write a timestamp with its offset, as in '2025-02-17T10:30:45Z'";
    case 'timeDuration':
      return "Write a duration as INTERVAL '1 day 2 hours'";
    case 'scheduleAt':
      return scheduleHint;
    default:
  }
  const { typespace } = environment.statement;
  const resolved = resolveType(type, typespace);
  switch (resolved.kind) {
    case 'bool':
      return 'Expected TRUE or FALSE';
    case 'sum':
      return 'Compare the name of its variant, as in variant_name(column), or its value';
    case 'product':
      return special === undefined
        ? 'Compare one of its elements, as in `column.element`'
        : undefined;
    case 'array':
      return isNumericType(resolveType(resolved.element, typespace))
        ? "Write an array of numbers as ARRAY[0, 1] or '[0, 1]'"
        : "Write an array as ARRAY['a', 'b'], and a test of one element as 'a' = ANY(column)";
    default:
      return undefined;
  }
}

const scheduleHint =
  'Compare what it holds: `column."Time" < now()`, or `column."Interval" < INTERVAL \'1 hour\'`';

/** A hint for two values of this type, which no operator compares. */
export function comparisonHint(type: AlgebraicType, environment: Environment): string | undefined {
  const { typespace } = environment.statement;
  const resolved = resolveType(type, typespace);
  if (specialKindOf(type) === 'timeDuration') {
    return "Add a duration to one of two columns to compare them: a = b + INTERVAL '0 seconds'";
  }
  if (resolved.kind !== 'array') return placeHint(type, environment);
  const [one, all] = isNumericType(resolveType(resolved.element, typespace))
    ? ['0', 'ARRAY[0, 1]']
    : ["'a'", "ARRAY['a', 'b']"];
  return (
    `Lists cannot be compared: write list @> ${all} (it has all), list && ${all} ` +
    `(it has one of them) or ${one} = ANY(list)`
  );
}

/** A hint on what to write for a column of this type, in VALUES or SET. */
export function storedHint(type: AlgebraicType, environment: Environment): string | undefined {
  const { typespace } = environment.statement;
  const inner = optionInnerType(type, typespace);
  const resolved = resolveType(inner ?? type, typespace);
  switch (specialKindOf(resolved)) {
    case 'timestamp':
      return "Write a timestamp as TIMESTAMP '2025-02-17T10:30:45Z'";
    case 'identity':
      return 'Write an identity as 0x and its 64 hex digits, without quotes';
    case 'connectionId':
      return 'Write a connection id as 0x and its 32 hex digits, without quotes';
    case 'uuid':
      return "Write a UUID as UUID '018867c5-d400-7321-8a9b-0c1d2e3f4051'";
    case 'bytes':
      return 'Write bytes as 0x and their hex digits, without quotes';
    case 'scheduleAt':
      return `SQL has no literal for a ScheduleAt: ${byReducer}`;
    default:
  }
  switch (resolved.kind) {
    case 'sum': {
      const bare = bareVariants(resolved);
      const those = bare.length === 0 ? '' : `, only for those without: ${variantsText(bare)}`;
      return `SQL has no literal for variants with a value${those}. Else ${byReducer}`;
    }
    case 'product':
      return specialKindOf(resolved) === undefined
        ? `SQL has no literal for a product: ${byReducer}`
        : placeHint(resolved, environment);
    default: {
      const hint = placeHint(resolved, environment);
      return isNumericType(resolved) ? `${hint ?? 'Expected a number'}, without quotes` : hint;
    }
  }
}

const byReducer = 'call a reducer that writes it';
