import { type BridgeCommand, Server } from './server.ts';
import { Onlooker } from './onlooker.ts';

/**
 * What an agent does with a database that it has never seen, written down as a script: where a model
 * would think, this one has made up its mind. Everything goes through tools of the MCP server.
 */
export interface AgentOptions {
  readonly bridge: BridgeCommand;
  /** Of the service, for the onlooker: `ws://127.0.0.1:3000`. */
  readonly uri: string;
  readonly say: (line: string) => void;
}

export async function runAgent({ bridge, uri, say }: AgentOptions): Promise<void> {
  const server = await Server.connect(bridge, (question) => {
    say(`   asked: ${question.split('\n')[0]}\n   the person says yes`);
    return true;
  });
  try {
    const database = await discover(server, say);
    await readSchema(server, database, say);
    const wrong = await findWrong(server, database, say);
    const onlooker = await Onlooker.watch(uri, database);
    const preview = await previewRecount(server, { database, sku: wrong.sku, say });
    await applyPreview(server, { database, preview, say });
    await seeChange(onlooker, say);
    onlooker.close();
    await findNothing(server, database, say);
  } finally {
    await server.close();
  }
}
