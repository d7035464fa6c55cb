import type { AlgebraicType } from '../../values/type.ts';
import { resolveType } from '../../values/typespace.ts';
import { optionInnerType } from '../functions/convert.ts';
import type { ColumnReference, Span } from '../syntax/ast.ts';
import { type Environment, refuse } from './context.ts';
import { fieldOf } from './field.ts';
import {
  columnPosition,
  type Scope,
  type ScopeColumn,
  type ScopeRelation,
  unqualifiedMessage,
} from './scope.ts';
import type { TypedColumn, TypedExpression } from './typed.ts';
import { nameHint } from './visibility.ts';

/** The meaning of a dotted name: a column, a field of one, or an item of the SELECT list. */
export function resolveName(reference: ColumnReference, environment: Environment): TypedExpression {
  const { parts } = reference;
  const alias = parts.length === 1 ? environment.aliases?.get(parts[0] ?? '') : undefined;
  // In a join an unqualified name is not a column, so it can only be an item.
  if (alias !== undefined && environment.scope.relations.length > 1) return alias;
  const countMin = environment.takesFields ? 1 : parts.length;
  for (let count = parts.length; count >= countMin; count--) {
    const column = findColumn(parts.slice(0, count), reference, environment);
    if (column === undefined) continue;
    if (count < parts.length && !hasFields(column, environment)) break;
    return parts
      .slice(count)
      .reduce<TypedExpression>(
        (operand, name) => fieldOf(operand, name, reference.span, environment),
        column,
      );
  }
  if (alias !== undefined) return alias;
  throw unknownName(reference, environment);
}

/** All columns of one relation, in order. */
export function columnsOfRelation(
  relation: ScopeRelation,
  { statement }: Environment,
): readonly TypedColumn[] {
  return relation.columns.map((_, at) => columnAt(relation, at, statement.typespace));
}

/**
 * The last part is the column, everything before it the relation. Without a relation the name is
 * searched for in the nearest block that has it.
 */
function findColumn(
  parts: readonly string[],
  reference: ColumnReference,
  environment: Environment,
): TypedColumn | undefined {
  const { scope, statement } = environment;
  const name = parts.at(-1) ?? '';
  const qualifier = parts.length > 1 ? parts.slice(0, -1).join('.') : undefined;
  for (let block: Scope | undefined = scope; block !== undefined; block = block.outer) {
    for (const relation of block.relations) {
      if (qualifier !== undefined && relation.name !== qualifier) continue;
      const at = columnPosition(relation.columns, name);
      if (at !== -1) {
        const column = columnAt(relation, at, statement.typespace);
        // A name that can have no fields but is followed by one names a relation.
        const isColumn = parts.length === reference.parts.length || hasFields(column, environment);
        if (qualifier === undefined && block.relations.length > 1 && isColumn) {
          throw refuse(unqualifiedMessage, reference.span, environment);
        }
        return column;
      }
      // A nearer relation of this name hides the outer ones, with all their columns.
      if (qualifier !== undefined) return undefined;
    }
  }
  return undefined;
}

function columnAt(
  relation: ScopeRelation,
  column: number,
  typespace: { readonly types: readonly AlgebraicType[] },
): TypedColumn {
  const spec = relation.columns[column] as ScopeColumn;
  return {
    kind: 'column',
    slot: relation.slot,
    column,
    name: spec.name,
    type: resolveType(spec.type, typespace),
    isNullable: spec.isNullable || relation.isNullable,
  };
}

function hasFields({ type }: TypedColumn, { statement }: Environment): boolean {
  const { kind } = resolveType(type, statement.typespace);
  return kind === 'product' || kind === 'sum';
}

/** The error by the first rule for names: the relation is unknown, or it lacks the column. */
function unknownName({ parts, span }: ColumnReference, environment: Environment): Error {
  const relations: ScopeRelation[] = [];
  for (let block: Scope | undefined = environment.scope; block; block = block.outer) {
    relations.push(...block.relations);
  }
  const name = parts.at(-1) ?? '';
  const qualifier = parts.slice(0, -1).join('.');
  const message = (unknown: string): string => `\`${unknown}\` is not in scope`;
  if (parts.length === 1) {
    const columns = relations.flatMap((relation) => relation.columns.map((column) => column.name));
    const aliases = [...(environment.aliases?.keys() ?? [])];
    const near = nameHint(name, [...columns, ...aliases]);
    return refuse(message(name), span, environment, quotedHint(name, span, environment) ?? near);
  }
  const relation = relations.find((candidate) => candidate.name === qualifier);
  if (relation === undefined) {
    const names = relations.map((candidate) => candidate.name);
    const hint = partHint(parts, relations, environment) ?? nameHint(qualifier, names);
    return refuse(message(qualifier), span, environment, hint);
  }
  const hint = nameHint(
    name,
    relation.columns.map((column) => column.name),
  );
  return refuse(message(name), span, environment, hint);
}

/** An unknown name in double quotes was probably meant as a text. */
function quotedHint(name: string, span: Span, { source }: Environment): string | undefined {
  if (!source.text(span).startsWith('"')) return undefined;
  const text = name.replaceAll("'", "''");
  return `Texts stand in single quotes: '${text}'. Double quotes are for names`;
}

/** The qualifier may be a column, whose parts are not columns. */
function partHint(
  parts: readonly string[],
  relations: readonly ScopeRelation[],
  { statement, takesFields }: Environment,
): string | undefined {
  const [first = '', second = ''] = parts;
  const relation = relations.find(({ columns }) => columnPosition(columns, first) !== -1);
  const column = relation?.columns[columnPosition(relation.columns, first)];
  if (column === undefined) return undefined;
  const type = resolveType(column.type, statement.typespace);
  const plain = resolveType(
    optionInnerType(type, statement.typespace) ?? type,
    statement.typespace,
  );
  if (plain.kind === 'string') {
    return `\`${first}\` is a column of text. If it is JSON, write ${first} ->> '${second}'`;
  }
  if (takesFields) return `\`${first}\` is a column, and its type has no parts`;
  return `\`${first}\` is a column: only the full dialect reads its parts`;
}
