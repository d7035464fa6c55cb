import type { Person } from '../running.ts';
import type { Stage } from './stage.ts';
import type { MatrixRow } from './table.ts';

/** What one caller gets without a tool: the word of the guide for it. */
export async function look(
  { label, code }: MatrixRow,
  stage: Stage,
  as: Person | undefined,
): Promise<string> {
  const { running, library, elsewhere } = stage;
  const database = label.endsWith('elsewhere') ? elsewhere : library.database;
  const ask = async (method: string, params: object, where = '/v1/mcp') => {
    const { text } = await running.ask('POST', where, {
      as,
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      headers: { 'content-type': 'application/json' },
    });
    return JSON.parse(text);
  };
  switch (label.slice(0, label.indexOf(' '))) {
    case 'completed:': {
      const name = code.startsWith('tables/') ? 'table' : 'reducer';
      const { result } = await ask('completion/complete', {
        ref: { type: 'ref/prompt', name: 'explore_database' },
        argument: { name, value: '' },
        context: { arguments: { database } },
      });
      return yesIf(result.completion.values.includes(code.replace('tables/', '')));
    }
    case 'listed:': {
      const { result } = await ask('resources/list', {}, `/v1/database/${database}/mcp`);
      const uris: string[] = result.resources.map(({ uri }: { uri: string }) => uri);
      return yesIf(uris.some((uri) => uri.endsWith(`/${code}`)));
    }
    case 'prompt': {
      const { result } = await ask('prompts/get', { name: code, arguments: { database } });
      return yesIf(/^developer: [0-9a-f]{64}$/m.test(result.messages[0].content.text));
    }
    default: {
      const uri = `reducerdb:///${code === 'databases' ? '' : `${database}/`}${code}`;
      const { result, error } = await ask('resources/read', { uri });
      if (error !== undefined) return error.code === -32002 ? 'none' : error.message;
      return wordForText(code, result.contents[0].text, database);
    }
  }
}

function wordForText(code: string, text: string, database: string): string {
  if (code === 'databases') return yesIf(text.includes(database));
  if (!code.startsWith('tables/')) return 'yes';
  const { rows, truncated } = JSON.parse(text);
  if (truncated) return 'cut';
  return rows.length === 0 ? 'no rows' : 'yes';
}

function yesIf(isSo: boolean): string {
  return isSo ? 'yes' : 'no';
}
