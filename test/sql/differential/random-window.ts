import type { Random } from '../../../src/testing/random.ts';
import { isInteger, type Kind } from './kinds.ts';
import { randomCondition } from './random-expression.ts';
import type { Scope } from './scope.ts';
import { type Expression, expression, type Part } from './tree.ts';

const frames = [
  '',
  ' RANGE UNBOUNDED PRECEDING',
  ' RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING',
  ' GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING',
  ' GROUPS BETWEEN 1 FOLLOWING AND 2 FOLLOWING',
  ' GROUPS CURRENT ROW',
] as const;

const countedFrames = [
  ' ROWS 1 PRECEDING',
  ' ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING',
  ' ROWS BETWEEN 1 FOLLOWING AND 1 FOLLOWING',
  ' ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING',
  ' ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING',
  ' ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING',
] as const;

const exclusions = [
  ...['', '', ' EXCLUDE NO OTHERS', ' EXCLUDE GROUP', ' EXCLUDE CURRENT ROW'],
  ' EXCLUDE TIES',
] as const;

/** Both dialects of a window, and what may be computed over it. */
interface Over {
  readonly parts: readonly Part[];
  /** Whether equal rows by its order are equal in all columns. */
  readonly isTotal: boolean;
}

function randomOver({ random, atoms }: Scope): Over {
  const partition = random.chance(0.6)
    ? ['PARTITION BY ', withoutWhole(random.pick(atoms)), ' ']
    : [];
  const direction = random.pick(['', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST']);
  if (random.chance(0.3)) {
    const keys = atoms.flatMap((atom, at): readonly Part[] => {
      return [at === 0 ? 'ORDER BY ' : `${direction}, `, withoutWhole(atom)];
    });
    const frame = random.chance(0.7) ? random.pick(countedFrames) : random.pick(frames);
    const excluded = frame === '' ? '' : random.pick(exclusions);
    return { parts: [...partition, ...keys, `${direction}${frame}${excluded}`], isTotal: true };
  }
  const key = withoutWhole(random.pick(atoms));
  const order = [...partition, 'ORDER BY ', key, direction];
  const distances = random.chance(0.6) ? randomDistances(key.kind, random) : undefined;
  const frame = distances ?? [random.pick(frames)];
  // Which of some equal rows is the current one is not defined.
  const excluded = frame[0] === '' ? '' : random.pick(exclusions.slice(0, 4));
  return { parts: [...order, ...frame, excluded], isTotal: false };
}

/** `RANGE` with distances between values of this kind. */
function randomDistances(kind: Kind, random: Random): readonly Part[] | undefined {
  const make = (): Part | undefined => {
    if (isInteger(kind)) return String(random.pick([0, 1, 1, 2, 5, 1_000]));
    if (kind === 'f32' || kind === 'f64') return random.pick(['0.5', '1', '0.25', '100', '0']);
    const micros = random.pick([0, 1, 1_000_000, 3_600_000_000, 86_400_000_000]);
    const ours = `INTERVAL '${micros} microseconds'`;
    if (kind === 'duration') return { ours, postgres: String(micros) };
    return kind === 'timestamp' ? ours : undefined;
  };
  const [a, b] = [make(), make()];
  if (a === undefined || b === undefined) return undefined;
  return random.pick([
    [' RANGE ', a, ' PRECEDING'],
    [' RANGE BETWEEN ', a, ' PRECEDING AND ', b, ' FOLLOWING'],
    [' RANGE BETWEEN ', a, ' PRECEDING AND ', b, ' PRECEDING'],
    [' RANGE BETWEEN ', a, ' FOLLOWING AND ', b, ' FOLLOWING'],
    [' RANGE BETWEEN CURRENT ROW AND ', b, ' FOLLOWING'],
    [' RANGE BETWEEN UNBOUNDED PRECEDING AND ', b, ' PRECEDING'],
    [' RANGE BETWEEN ', a, ' FOLLOWING AND UNBOUNDED FOLLOWING'],
  ]);
}

/** A window function whose result is the same in whichever order equal rows come. */
export function randomWindowCall(scope: Scope): Expression {
  const { random, atoms } = scope;
  const { parts, isTotal } = randomOver(scope);
  const over = [' OVER (', ...parts, ')'];
  const cast = { ours: '', postgres: '::numeric' };
  const range = { low: 0n, high: 1_000_000n };
  const counted = { isLoose: false, isNullable: false, range };
  const ordered = atoms.filter(({ kind }) => !['bool', 'bytes', 'uuid'].includes(kind));
  if (ordered.length === 0 || random.chance(0.3)) {
    const names = ['rank()', 'dense_rank()', ...(isTotal ? ['row_number()', 'ntile(3)'] : [])];
    return expression('i64', [random.pick(names), ...over], counted);
  }
  if (random.chance(0.4)) {
    const argument = withoutWhole(random.pick(atoms));
    const filter = random.chance(0.3)
      ? [' FILTER (WHERE ', randomCondition({ ...scope, mayRaise: false }, 1), ')']
      : [];
    return expression('u64', ['COUNT(', argument, ')', ...filter, ...over, cast], counted);
  }
  const argument = withoutWhole(random.pick(ordered));
  const { kind, isAscii } = argument;
  const names = isTotal
    ? ['MIN(', 'MAX(', 'first_value(', 'last_value(', 'lag(', 'lead(']
    : ['MIN(', 'MAX('];
  const given = { isLoose: false, isNullable: true, range: argument.range, isAscii };
  if (isTotal && random.chance(0.15)) {
    return expression(kind, ['nth_value(', argument, ', 2)', ...over], given);
  }
  return expression(kind, [random.pick(names), argument, ')', ...over], given);
}

function withoutWhole({ whole: _, ...rest }: Expression): Expression {
  return rest;
}
