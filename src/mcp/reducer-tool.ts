import type { EntityDocs, ModuleDocs } from '../doors/module-docs.ts';
import type {
  ModuleDefinition,
  ProcedureDefinition,
  ReducerDefinition,
} from '../schema/definition.ts';
import { areNamed, type SchemaTypes, wordedTypes } from '../schema/type-words.ts';
import { JsonObject, type JsonValue } from '../values/json.ts';
import type { ProductType } from '../values/type.ts';
import { fenced } from './fence.ts';
import { argumentsSchema, isOption, shortText } from './json-schema.ts';
import { procedureWords, signatureWords } from './prompts/schema-words.ts';
import {
  callFunction,
  callOutputSchema,
  functionArguments,
  procedureOutputSchema,
} from './reducer-call.ts';
import type { ToolSource } from './tool.ts';

/** The program that the tools are derived from. */
export interface ReducerToolParts {
  /** Flat: with all submodules. */
  readonly definition: ModuleDefinition;
  readonly docs: ModuleDocs;
}

/** A function that clients call. */
export type Callable =
  | { readonly kind: 'reducer'; readonly declared: ReducerDefinition }
  | { readonly kind: 'procedure'; readonly declared: ProcedureDefinition };

/** Creates the tool `toolName`, which runs one function of the session's database. */
export function reducerTool(
  callable: Callable,
  toolName: string,
  { definition, docs }: ReducerToolParts,
): ToolSource {
  const { name, params } = callable.declared;
  const said = docs.functions.get(name) ?? nothing;
  const hasNames = areNamed(params.elements);
  return {
    name: toolName,
    title: name,
    description: descriptionOf(callable, said, definition),
    properties: {},
    required: [],
    inputSchema: argumentsSchema(callable.declared, wordedTypes(definition), said.parts),
    outputSchema: callable.kind === 'reducer' ? callOutputSchema : procedureOutputSchema,
    takesDatabase: true,
    effect: 'writes',
    run: (given, context) => {
      const database = context.session.database ?? '';
      const args = hasNames ? withNones(given, params, definition) : functionArguments(given);
      return callFunction({ database, name, args }, context, fenced);
    },
  };
}

const nothing: EntityDocs = { text: '', parts: new Map() };

/** Returns the author's description, if any, and the signature. */
function descriptionOf(
  { kind, declared }: Callable,
  { text }: EntityDocs,
  { typespace }: SchemaTypes,
): string {
  const words =
    kind === 'reducer' ? signatureWords(declared, typespace) : procedureWords(declared, typespace);
  const runs = `Runs the ${shortText(words)}.`;
  return text === '' ? runs : `${text}\n\n${runs}`;
}

/** Adds `null` for omitted options. */
function withNones(given: JsonObject, params: ProductType, types: SchemaTypes): JsonObject {
  const absent = params.elements.flatMap((element): [string, JsonValue][] => {
    const { name } = element;
    const isAbsent = name !== undefined && given.get(name) === undefined;
    return isAbsent && isOption(element, types) ? [[name, null]] : [];
  });
  return new JsonObject([...given.entries, ...absent]);
}
