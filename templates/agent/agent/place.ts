import { existsSync, readFileSync } from 'node:fs';

export interface Place {
  readonly url: string;
  readonly database: string;
}

/**
 * Where the database is. `reducerdb dev` notes it in `.reducerdb/dev.json`. On a server, set both
 * variables.
 */
export function place(): Place {
  const { REDUCERDB_URL, REDUCERDB_DATABASE } = process.env;
  return { url: REDUCERDB_URL ?? notedUrl(), database: REDUCERDB_DATABASE ?? '{{name}}' };
}

function notedUrl(): string {
  const text = noted('dev.json');
  return text === undefined ? 'http://127.0.0.1:3000' : JSON.parse(text).url;
}

/** All that the agent may do. The service keeps to it, whatever the agent tries. */
const limits = {
  tables: ['question', 'fact'],
  reducers: ['answer'],
  features: ['watch', 'answer-schemas'],
  expires_seconds: 24 * 3600,
};

/**
 * A limited token: the variable AGENT_TOKEN, or one that is made here with your own, which is that
 * of `reducerdb dev`. It is an identity of its own, which the module learns of by `hire`.
 */
export async function agentToken({ url, database }: Place): Promise<string> {
  const { AGENT_TOKEN } = process.env;
  if (AGENT_TOKEN !== undefined) return AGENT_TOKEN;
  const own = noted('token');
  if (own === undefined) throw new Error('start `npm run dev` first, or set AGENT_TOKEN');
  const send = async (path: string, body: unknown) => {
    const answer = await fetch(new URL(`/v1/database/${database}/${path}`, url), {
      method: 'POST',
      headers: { authorization: `Bearer ${own.trim()}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path}: ${text}`);
    return text;
  };
  const made: { token: string; identity: string } = JSON.parse(await send('tokens', limits));
  await send('call/hire', [made.identity]);
  return made.token;
}

/** A file that `reducerdb dev` keeps in this project. */
function noted(name: string): string | undefined {
  const file = new URL(`../.reducerdb/${name}`, import.meta.url);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}
