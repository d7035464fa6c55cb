import type { ModuleDefinition } from '../schema/definition.ts';
import { flatDefinition } from '../schema/flat-definition.ts';
import { number, object, type Shaped, string } from '../values/json-shape.ts';
import { type Api, databasePath } from './api.ts';

/** What an agent may do with a token that is made for it. */
export const agentTokenKinds = ['read-only', 'preview', 'full'] as const;

export type AgentTokenKind = (typeof agentTokenKinds)[number];

/** A configuration is forgotten sooner than its token is revoked. */
const lifeSeconds = 30 * 24 * 3600;

/** Makes a limited token for an agent: none of them can do more than its maker. */
export async function makeAgentToken(
  api: Api,
  database: string,
  kind: AgentTokenKind,
  definition: ModuleDefinition,
): Promise<Shaped<typeof madeToken>> {
  return api.json('POST', databasePath(database, '/tokens'), madeToken, {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      ...limitsOf(kind, flatDefinition(definition)),
      expires_seconds: lifeSeconds,
    }),
  });
}

const madeToken = object({
  id: string,
  token: string,
  /** Seconds since the Unix epoch. */
  expires_at: number,
});

/** What the token is limited to: all tables, views, reducers and procedures that there are now. */
export function limitsOf(kind: AgentTokenKind, definition: ModuleDefinition): object {
  const { tables, views, reducers, procedures } = definition;
  const readable = [...tables, ...views].map(({ name }) => name);
  const called = reducers.filter(({ lifecycle }) => lifecycle === undefined);
  const callable = called.map(({ name }) => name);
  switch (kind) {
    case 'read-only':
      return { tables: readable, read_only: true, features: ['read-only'] };
    case 'preview':
      return {
        ...{ tables: readable, reducers: callable, sql_writes: true },
        features: ['write-by-preview'],
      };
    case 'full':
      return {
        ...{ tables: readable, sql_writes: true, features: ['preview', 'logs'] },
        reducers: [...callable, ...procedures.map(({ name }) => name)],
      };
  }
}
