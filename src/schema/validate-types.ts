import type { NamedType } from '../values/type.ts';
import type { TypeDefinition } from './definition.ts';
import { Namespace } from './problems.ts';
import type { RawTypeDefinition } from './raw-module.ts';
import type { Scope } from './scope.ts';

/** Checks the types that have a name of their own for clients, and names them. */
export function validateTypes(scope: Scope): TypeDefinition[] {
  const names = new Namespace(scope.problems, (name) => {
    return `name \`${name}\` is used for multiple types`;
  });
  const definitions = scope.raw.types.map((raw) => {
    const definition = nameType(scope, raw);
    names.claim(scopedName(definition));
    return definition;
  });
  for (const definition of definitions) checkDefinition(scope, definition);
  scope.types.checkDefinitions();
  return definitions;
}

function nameType({ policy, problems }: Scope, raw: RawTypeDefinition): TypeDefinition {
  const name = policy.type(raw.sourceName);
  const scope = raw.scope.map(policy.type);
  problems.checkIdentifiers(...raw.scope, ...scope, raw.sourceName, name);
  return {
    scope,
    name,
    sourceScope: raw.scope,
    sourceName: raw.sourceName,
    ref: raw.ref,
    customOrdering: raw.customOrdering,
  };
}

function checkDefinition(scope: Scope, definition: TypeDefinition): void {
  const { problems, typespace, raw } = scope;
  const type = typespace.types[definition.ref];
  const sourceType = raw.typespace.types[definition.ref];
  if (type === undefined || sourceType === undefined) {
    problems.report(`Type ${scopedName(definition)} has invalid ref: ${definition.ref}`);
    return;
  }
  if (type.kind !== 'product' && type.kind !== 'sum') return;
  for (const { name } of membersOf(type)) {
    if (name !== undefined) problems.checkIdentifiers(name);
  }
  // The library sorted its own names of the members, so the order is checked by the module's
  // spelling.
  if (!definition.customOrdering && !isDefaultOrder(membersOf(sourceType))) {
    const members = membersOf(type).map(({ name }, index) => name ?? String(index));
    problems.report(
      `type \`${scopedName(definition)}\` is not annotated with a custom ordering, but uses one: ` +
        `[${members.join(', ')}]`,
    );
  }
}

function membersOf(type: Scope['typespace']['types'][number]): readonly NamedType[] {
  if (type.kind === 'product') return type.elements;
  return type.kind === 'sum' ? type.variants : [];
}

/** Unnamed members first, then names by code point. */
function isDefaultOrder(members: readonly NamedType[]): boolean {
  return members.every(({ name }, index) => {
    const before = members[index - 1]?.name;
    if (index === 0 || before === undefined) return true;
    return name !== undefined && compareCodePoints(before, name) <= 0;
  });
}

function compareCodePoints(a: string, b: string): number {
  const left = [...a];
  const right = [...b];
  const at = left.findIndex((character, index) => character !== right[index]);
  if (at < 0) return left.length - right.length;
  return (left[at]?.codePointAt(0) ?? 0) - (right[at]?.codePointAt(0) ?? -1);
}

function scopedName({ scope, name }: TypeDefinition): string {
  return [...scope, name].join('::');
}
