import { type Api, databasePath, hintedText } from './api.ts';
import { CliError } from './io.ts';

/**
 * What more the service knows of queries that it refused to watch: messages of connections have no
 * hints, so each query is explained over HTTP. Nothing is run.
 */
export async function subscriptionHint(
  api: Api,
  { database, queries }: { readonly database: string; readonly queries: readonly string[] },
): Promise<string | undefined> {
  try {
    for (const query of queries) {
      const request = { body: `EXPLAIN ${query}` };
      const answer = await api.send('POST', databasePath(database, '/sql'), request);
      const { hint } = hintedText(answer, await answer.text());
      if (!answer.ok) return hint;
    }
  } catch (error) {
    // The refusal is shown without a hint.
    if (error instanceof CliError) return undefined;
    throw error;
  }
  return undefined;
}
