import {
  castNameOf,
  integerKinds,
  isInteger,
  isNumber,
  isWithin,
  type Kind,
  max,
  min,
  promote,
  type Range,
  rangeOf,
} from './kinds.ts';
import { randomArithmetic } from './random-arithmetic.ts';
import { literalValue } from './random-schema.ts';
import { nameable, type Scope } from './scope.ts';
import { functionsOf } from './shared-functions.ts';
import { type Expression, expression, isExpression, literal, type Part } from './tree.ts';

const allKinds: readonly Kind[] = ['i32', 'u8', 'i64', 'f64', 'string', 'bool', 'timestamp'];

/** A kind that something in the scope has, mostly. */
export function randomKind(scope: Scope): Kind {
  const { random, atoms } = scope;
  if (atoms.length > 0 && random.chance(0.9)) return random.pick(atoms).kind;
  return random.pick(allKinds);
}

/** An expression of the kind with a type of its own, so that it may stand anywhere. */
export function randomExpression(scope: Scope, kind: Kind, depth: number): Expression {
  const { random } = scope;
  if (depth <= 0 || random.chance(0.35)) return leaf(scope, kind);
  // Nothing but a column says that it is an enum.
  if (kind === 'enum' && !scope.atoms.some((atom) => atom.kind === 'enum'))
    return leaf(scope, kind);
  const made = random.chance(0.4) ? randomChoice(scope, kind, depth) : ofKind(scope, kind, depth);
  return made ?? leaf(scope, kind);
}

/** A column, or a value that carries its type. */
export function leaf(scope: Scope, kind: Kind): Expression {
  const { random } = scope;
  const fitting = nameable(scope).filter((atom) => atom.kind === kind);
  const named = fitting.length > 0 ? fitting : scope.atoms.filter((atom) => atom.kind === kind);
  if (named.length > 0 && (kind === 'enum' || random.chance(0.93))) return random.pick(named);
  const enums = scope.atoms.filter((atom) => atom.kind === 'enum');
  if (kind === 'string' && enums.length > 0 && random.chance(0.8)) {
    const parts = ['CAST(', random.pick(enums), { ours: ' AS String)', postgres: ' AS text)' }];
    return expression('string', parts, { isLoose: false });
  }
  return typedLiteral(scope, kind);
}

export function typedLiteral({ random }: Scope, kind: Kind): Expression {
  const bare = literal(kind, literalValue(kind, random));
  // Two bare literals could meet in a comparison, which has no type then.
  if (!needsCast(kind)) return { ...bare, isTyped: kind !== 'enum' };
  const parts = [
    { ours: 'CAST(', postgres: '' },
    bare,
    { ours: ` AS ${castNameOf(kind)})`, postgres: '' },
  ];
  return expression(kind, parts, { range: bare.range, isLoose: false });
}

function needsCast(kind: Kind): boolean {
  return isNumber(kind) || kind === 'string' || kind === 'bytes';
}

/** For a place where the other operand says the type. */
export function randomOperand(scope: Scope, kind: Kind, depth: number): Expression {
  const { random } = scope;
  // Two columns that are durations cannot be compared.
  const isLiteral = kind === 'duration' || random.chance(0.4);
  return isLiteral
    ? literal(kind, literalValue(kind, random))
    : randomExpression(scope, kind, depth);
}

function ofKind(scope: Scope, kind: Kind, depth: number): Expression | undefined {
  const { random } = scope;
  if (kind === 'bool') return randomCondition(scope, depth - 1);
  const functions = functionsOf(kind);
  if (functions.length > 0 && random.chance(kind === 'string' ? 0.7 : 0.25)) {
    return random.pick(functions).make({
      random,
      argument: (wanted) => randomExpression(scope, wanted, depth - 1),
      mayRaise: scope.mayRaise,
    });
  }
  const operand = (wanted: Kind) => randomExpression(scope, wanted, depth - 1);
  return randomArithmetic({ random, kind, operand, mayRaise: scope.mayRaise });
}

/** What has the type of its parts: CASE, COALESCE, NULLIF, GREATEST, a scalar subquery. */
function randomChoice(scope: Scope, kind: Kind, depth: number): Expression | undefined {
  const { random } = scope;
  const first = () => randomExpression(scope, kind, depth - 1);
  const other = () => randomAlternative(scope, kind, depth - 1);
  switch (random.below(6)) {
    case 0:
      return choice(kind, ['COALESCE(', first(), ', ', other(), ')']);
    case 1: {
      const [a, b] = [first(), randomOperand(scope, kind, depth - 1)];
      const made = choice(kind, ['NULLIF(', a, ', ', b, ')']);
      return { ...made, isNullable: true, range: a.range, isAscii: a.isAscii };
    }
    case 2: {
      if (!isNumber(kind) && kind !== 'string' && kind !== 'timestamp') return undefined;
      const name = random.pick(['GREATEST', 'LEAST']);
      return choice(kind, [`${name}(`, first(), ', ', other(), ')']);
    }
    case 3: {
      const found = scope.subqueries.scalar(scope, kind);
      if (found === undefined) return undefined;
      const { query, item } = found;
      const { range, isAscii, isStable, isDyadic } = item;
      const given = { range, isAscii, isStable, isDyadic, isNullable: true, isLoose: false };
      return expression(kind, ['(', query, ')'], { ...given, canRaise: false });
    }
    default:
      return randomCase(scope, kind, depth);
  }
}

/** Another value for the same place; a narrower integer becomes one of the kind there. */
function randomAlternative(scope: Scope, kind: Kind, depth: number): Expression {
  const { random } = scope;
  if (!isInteger(kind) || !random.chance(0.15)) return randomOperand(scope, kind, depth);
  const narrower = integerKinds.filter((other) => isWithin(rangeOf(other), rangeOf(kind)));
  return randomExpression(scope, random.pick(narrower), depth);
}

function randomCase(scope: Scope, kind: Kind, depth: number): Expression {
  const { random } = scope;
  const branches: Part[] = [];
  const results: Expression[] = [];
  const wanted = randomKind(scope);
  const subject =
    random.chance(0.3) && !isFraction(wanted) ? randomExpression(scope, wanted, 1) : undefined;
  for (let left = random.between(1, 2); left > 0; left--) {
    const isFirst = results.length === 0;
    const result = isFirst
      ? randomExpression(scope, kind, depth - 1)
      : randomAlternative(scope, kind, depth - 1);
    const when =
      subject === undefined
        ? randomCondition(scope, depth - 1)
        : literal(wanted, literalValue(wanted, random));
    branches.push(' WHEN ', when, ' THEN ', result);
    results.push(result);
  }
  const last = random.chance(0.7) ? randomAlternative(scope, kind, depth - 1) : undefined;
  const isNullable = last === undefined || results.some((result) => result.isNullable);
  const head: Part[] = subject === undefined ? ['CASE'] : ['CASE ', subject];
  const tail: Part[] = last === undefined ? [' END'] : [' ELSE ', last, ' END'];
  const made = choice(kind, [...head, ...branches, ...tail]);
  const all = last === undefined ? results : [...results, last];
  return { ...made, isNullable: isNullable || (last?.isNullable ?? true), ...boundsOf(all) };
}

function isFraction(kind: Kind): boolean {
  return kind === 'f32' || kind === 'f64';
}

function choice(kind: Kind, parts: readonly Part[]): Expression {
  const isResult = (part: Expression) =>
    part.kind === kind || (isInteger(kind) && isInteger(part.kind));
  const results = parts.filter(isExpression).filter(isResult);
  return expression(kind, parts, { isLoose: false, ...boundsOf(results) });
}

function boundsOf(results: readonly Expression[]): { range: Range | undefined; isAscii: boolean } {
  const isAscii = results.every((result) => result.isAscii);
  let range = results[0]?.range;
  for (const { range: next } of results) {
    if (range === undefined || next === undefined) return { range: undefined, isAscii };
    range = { low: min(range.low, next.low), high: max(range.high, next.high) };
  }
  return { range, isAscii };
}

/** Something that is true, false or null. */
export function randomCondition(scope: Scope, depth: number): Expression {
  const { random } = scope;
  if (depth <= 0 || random.chance(0.45)) return simpleCondition(scope, depth);
  switch (random.below(10)) {
    case 0:
    case 1:
    case 2:
    case 3: {
      const operator = random.chance(0.65) ? ' AND ' : ' OR ';
      const terms = Array.from({ length: random.between(2, 3) }, () =>
        randomCondition(scope, depth - 1),
      );
      return condition(terms.flatMap((term, at) => (at === 0 ? [term] : [operator, term])));
    }
    case 4:
      return condition(['NOT ', { ...randomCondition(scope, depth - 1), isLoose: true }]);
    case 5: {
      const test = random.pick(['TRUE', 'FALSE', 'NOT TRUE', 'NOT FALSE']);
      return condition([{ ...randomCondition(scope, depth - 1), isLoose: true }, ` IS ${test}`]);
    }
    case 6:
    case 7:
      return subqueryCondition(scope, depth) ?? simpleCondition(scope, depth);
    default:
      return simpleCondition(scope, depth);
  }
}

function condition(parts: readonly Part[], given: Partial<Expression> = {}): Expression {
  return expression('bool', parts, given);
}

function simpleCondition(scope: Scope, depth: number): Expression {
  const { random } = scope;
  const kind = randomKind(scope);
  const inner = depth - 1;
  const operand = randomExpression(scope, kind, inner);
  switch (random.below(9)) {
    case 0:
      return condition([operand, random.pick([' IS NULL', ' IS NOT NULL'])]);
    case 1: {
      const not = random.pick(['', '', 'NOT ']);
      const values = Array.from({ length: random.between(1, 4) }, () =>
        literal(kind, random.chance(0.07) ? null : literalValue(kind, random)),
      );
      const list = values.flatMap((value, at) => (at === 0 ? [value] : [', ', value]));
      return condition([operand, ` ${not}IN (`, ...list, ')']);
    }
    case 2: {
      if (kind === 'bool') break;
      const [low, high] = [randomOperand(scope, kind, inner), randomOperand(scope, kind, inner)];
      const not = random.pick(['', '', 'NOT ']);
      return condition([operand, ` ${not}BETWEEN `, low, ' AND ', high]);
    }
    case 3:
      if (kind !== 'string' && kind !== 'enum') break;
      return like(scope, operand);
    case 4: {
      const other = randomOperand(scope, kind, inner);
      const not = random.pick(['', 'NOT ']);
      return condition([operand, ` IS ${not}DISTINCT FROM `, other]);
    }
    case 5:
      return mixedComparison(scope, depth) ?? comparison(scope, operand, inner);
    case 6: {
      const flags = nameable(scope).filter((atom) => atom.kind === 'bool');
      if (flags.length > 0) return random.pick(flags);
      break;
    }
    default:
  }
  return comparison(scope, operand, inner);
}

const operators = ['=', '=', '=', '<>', '<', '<=', '>', '>=', '!='] as const;

function comparison(scope: Scope, operand: Expression, depth: number): Expression {
  const { random } = scope;
  const operator = ` ${random.pick(operators)} `;
  const other = randomOperand(scope, operand.kind, depth);
  if (random.chance(0.15)) return condition([other, operator, operand]);
  return condition([operand, operator, other]);
}

/** Numbers of two types: one side is computed, so that they meet in a type that holds both. */
function mixedComparison(scope: Scope, depth: number): Expression | undefined {
  const { random } = scope;
  const numbers = nameable(scope).filter((atom) => isNumber(atom.kind));
  if (numbers.length < 2) return undefined;
  const [a, b] = [random.pick(numbers), random.pick(numbers)];
  const operand = () => b;
  const computed = randomArithmetic({ random, kind: b.kind, operand, mayRaise: scope.mayRaise });
  if (computed === undefined || depth < 0) return undefined;
  if (!canMeet(a.kind, b.kind)) return undefined;
  return condition([a, ` ${random.pick(operators)} `, computed]);
}

/** U256 has no signed type above it. */
function canMeet(a: Kind, b: Kind): boolean {
  if (!isInteger(a) || !isInteger(b)) return true;
  const common = promote(a, b);
  return isInteger(common) && [a, b].every((kind) => isWithin(rangeOf(kind), rangeOf(common)));
}

function like({ random }: Scope, operand: Expression): Expression {
  const patterns = ['a%', '%b', '%', '_', '__', 'a_', '%a%', 'A%', '', "it's", '%z_t%', 'ab'];
  const not = random.pick(['', '', 'NOT ']);
  const name = operand.isAscii && random.chance(0.4) ? 'ILIKE' : 'LIKE';
  if (random.chance(0.15)) {
    const pattern = literal('string', random.pick(['a!%b', 'a!_%', '%!%%']));
    return condition([operand, ` ${not}${name} `, pattern, " ESCAPE '!'"]);
  }
  return condition([operand, ` ${not}${name} `, literal('string', random.pick(patterns))]);
}

function subqueryCondition(scope: Scope, depth: number): Expression | undefined {
  const { random } = scope;
  const not = random.pick(['', '', 'NOT ']);
  if (random.chance(0.5)) {
    const query = scope.subqueries.any(scope);
    return query && condition([`${not}EXISTS (`, query, ')'], { isNullable: false });
  }
  if (random.chance(0.3)) return rowAmongRows(scope, depth);
  const kind = randomKind(scope);
  if (isFraction(kind) || kind === 'duration') return undefined;
  const operand = randomExpression(scope, kind, Math.min(depth - 1, 1));
  const query = scope.subqueries.column(scope, kind);
  return query && condition([operand, ` ${not}IN (`, query, ')'], { isNullable: true });
}

/** `(a, b) IN (SELECT x, y …)` */
function rowAmongRows(scope: Scope, depth: number): Expression | undefined {
  const { random } = scope;
  const kinds = Array.from({ length: random.between(2, 3) }, () => randomKind(scope));
  if (kinds.some((kind) => isFraction(kind) || kind === 'duration')) return undefined;
  const query = scope.subqueries.columns(scope, kinds);
  if (query === undefined) return undefined;
  const values = kinds.map((kind) => randomExpression(scope, kind, Math.min(depth - 1, 1)));
  const row = values.flatMap((value, at) => (at === 0 ? [value] : [', ', value]));
  const not = random.pick(['', '', 'NOT ']);
  return condition(['(', ...row, `) ${not}IN (`, query, ')'], { isNullable: true });
}

/** Whether the kind has sums. */
export function isSummable(kind: Kind): boolean {
  return isInteger(kind) || isFraction(kind) || kind === 'duration';
}
