import type { Expression } from '../syntax/ast.ts';
import type { Environment } from './context.ts';
import {
  comparison,
  inferPlain,
  requireComparable,
  typeBeside,
  typePair,
} from './type-comparison.ts';
import { typeCondition } from './type-expression.ts';
import type { TypedExpression } from './typed.ts';
import { typeTogether } from './unify.ts';

type Case = Extract<Expression, { readonly kind: 'case' }>;

/** `CASE x WHEN v …` is `CASE WHEN x = v …`; the results get the type that holds all of them. */
export function typeCase(expression: Case, environment: Environment): TypedExpression {
  const { branches, otherwise } = expression;
  const conditions = typeConditions(expression, environment);
  const results = branches.map(({ then }) => then);
  if (otherwise !== undefined) results.push(otherwise);
  const typed = typeTogether(results, environment);
  const typedOtherwise = otherwise === undefined ? undefined : typed.at(-1);
  const isNullable = typedOtherwise === undefined || typed.some((result) => result.isNullable);
  return {
    kind: 'case',
    // biome-ignore lint/suspicious/noThenProperty: THEN is the word of SQL, and nothing awaits it.
    branches: conditions.map((when, at) => ({ when, then: typed[at] as TypedExpression })),
    otherwise: typedOtherwise,
    type: (typed[0] as TypedExpression).type,
    isNullable,
  };
}

function typeConditions(
  { operand, branches, span }: Case,
  environment: Environment,
): readonly TypedExpression[] {
  if (operand === undefined) return branches.map(({ when }) => typeCondition(when, environment));
  const subject = inferPlain(operand, environment);
  if (subject !== undefined) {
    environment.statement.noteRepetition(subject, branches.length);
  }
  return branches.map(({ when }) => {
    const pair =
      subject === undefined
        ? typePair(operand, when, span, environment)
        : typeBeside(subject, when, environment);
    requireComparable('=', pair, span, environment);
    return comparison('=', pair);
  });
}
