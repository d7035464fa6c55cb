import { present } from '../assert.ts';
import { Refusal, type Rights } from '../database/outcome.ts';
import { moduleDocs } from '../doors/module-docs.ts';
import { usableDefinition } from '../doors/shown-definition.ts';
import type { DatabaseDescription } from '../host/supervision/database-handle.ts';
import { limits } from '../limits.ts';
import type { Tool } from '../mcp-protocol/tool.ts';
import { agentFeatures } from '../protocol/agent-features.ts';
import { flatDefinition } from '../schema/flat-definition.ts';
import { describeReducersName, describeReducersTool } from './describe-reducers.ts';
import { findDatabase } from './open-database.ts';
import { type Callable, type ReducerToolParts, reducerTool } from './reducer-tool.ts';
import type { McpSession } from './session.ts';
import type { ToolSource } from './tool.ts';
import { makeTool, type SessionShape, type ToolsOf } from './tool-list.ts';

/** Returns the tools derived from a session's database: of its reducers, then its procedures. */
export type ReducerTools = (session: McpSession) => Promise<readonly Tool<McpSession>[]>;

/**
 * Creates one tool for each reducer and procedure that the caller can call, or one that describes
 * them if they are many, in sessions with the feature `typed-reducers` and a fixed database.
 * `toolsOf` returns the tools whose names are taken.
 */
export function makeReducerTools(toolsOf: ToolsOf): ReducerTools {
  const taken = new Set([
    describeReducersName,
    ...[undefined, ''].flatMap((database) => {
      return toolsOf({ database, features: writingFeatures }).map(({ name }) => name);
    }),
  ]);
  const known = new WeakMap<DatabaseDescription, ReducerSources>();
  return async (session) => {
    if (!hasReducerTools(session)) return [];
    const found = findDatabase(session.database, session);
    if (found === undefined) return [];
    try {
      const description = await found.handle.describe();
      const docs = await moduleDocs(found.handle);
      const definition = flatDefinition(description.definition);
      const sources = known.get(description) ?? new ReducerSources({ definition, docs, taken });
      known.set(description, sources);
      return sources.usableBy(found.caller.rights).map((source) => makeTool(source, session));
    } catch (error) {
      // A database that does not serve has no reducers to show; the other tools report the reason.
      if (error instanceof Refusal) return [];
      throw error;
    }
  };
}

/** Whether the tools of a session depend on its database. */
export function hasReducerTools<Session extends SessionShape>(
  session: Session,
): session is Session & { readonly database: string } {
  const { database, features } = session;
  return database !== undefined && features.has('typed-reducers') && !features.has('read-only');
}

/** The features with which the most tools exist. */
const writingFeatures = new Set(agentFeatures.filter((feature) => feature !== 'read-only'));

/** The tools of one program, each created on first use. */
class ReducerSources {
  readonly #parts: ReducerToolParts;
  readonly #names: ReadonlyMap<string, string>;
  readonly #made = new Map<string, MadeTool>();

  constructor(parts: ReducerToolParts & { readonly taken: ReadonlySet<string> }) {
    this.#parts = parts;
    const { reducers, procedures } = parts.definition;
    const names = [...reducers, ...procedures].map(({ name }) => name);
    this.#names = toolNames(names, parts.taken);
  }

  usableBy(rights: Rights): readonly ToolSource[] {
    const usable = usableDefinition(this.#parts.definition, rights);
    const callables = [
      ...usable.reducers.map((declared): Callable => ({ kind: 'reducer', declared })),
      ...usable.procedures.map((declared): Callable => ({ kind: 'procedure', declared })),
    ];
    if (callables.length > limits.reducerToolsMax) return [this.#describing(callables)];
    const tools: ToolSource[] = [];
    let characters = 0;
    for (const callable of callables) {
      const tool = this.#toolOf(callable);
      characters += tool.characters;
      if (characters > limits.reducerToolsCharactersMax) break;
      tools.push(tool.source);
    }
    return tools;
  }

  #describing(callables: readonly Callable[]): ToolSource {
    const byName = new Map(callables.map((callable) => [callable.declared.name, callable]));
    return describeReducersTool({
      names: [...byName.keys()],
      toolOf: (name) => this.#toolOf(present(byName.get(name), 'a listed name')).source,
    });
  }

  #toolOf(callable: Callable): MadeTool {
    const { name } = callable.declared;
    const made = this.#made.get(name);
    if (made !== undefined) return made;
    const toolName = this.#names.get(name) ?? name;
    const source = reducerTool(callable, toolName, this.#parts);
    const characters = JSON.stringify([source.description, source.inputSchema]).length;
    const tool = { source, characters };
    this.#made.set(name, tool);
    return tool;
  }
}

interface MadeTool {
  readonly source: ToolSource;
  readonly characters: number;
}

const toolNameLengthMax = 64;

/**
 * Names each tool after its reducer, with the prefix `reducer_` if the name is taken or contains
 * characters that tool names do not allow.
 */
export function toolNames(
  reducers: readonly string[],
  taken: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  const isFree = (name: string) => !taken.has(name) && /^[\w.-]{1,64}$/.test(name);
  const names = new Map(reducers.filter(isFree).map((name) => [name, name]));
  const used = new Set([...taken, ...names.keys()]);
  // Thousands of names may collide, so no number is tried twice.
  const counts = new Map<string, number>();
  for (const reducer of reducers) {
    if (names.has(reducer)) continue;
    const base = `reducer_${reducer.replace(/[^\w.-]/g, '_')}`;
    const start = base.slice(0, toolNameLengthMax - 8);
    let name = base.slice(0, toolNameLengthMax);
    while (used.has(name)) {
      const count = (counts.get(start) ?? 1) + 1;
      counts.set(start, count);
      name = `${start}_${count}`;
    }
    names.set(reducer, name);
    used.add(name);
  }
  return names;
}
