import type { Resources } from '../../src/mcp-protocol/resource.ts';
import type { ResourceBlob, ResourceText } from '../../src/mcp-protocol/tool.ts';
import { pngBase64 } from './fixture-media.ts';
import type { FixtureSession } from './fixture-tool.ts';

const watchedUri = 'test://watched-resource';

/** Resources under the URIs that the suite looks for. One of them changes while it is watched. */
export const fixtureResources: Resources<FixtureSession> = {
  list: async () =>
    [...contents].map(([uri, { mimeType }]) => {
      return { uri, name: uri, description: `The suite reads ${uri}.`, mimeType };
    }),
  templates: async () => [
    { uriTemplate: 'test://template/{id}/data', name: 'data', mimeType: 'application/json' },
  ],
  read: async (uri) => {
    const content = contents.get(uri) ?? ofTemplate(uri);
    return content === undefined ? undefined : [content];
  },
  watch: async ({ uris, list, updated }) => {
    const watched = uris.filter((uri) => uri === watchedUri);
    const timer = setInterval(() => watched.forEach(updated), 100);
    return { uris: watched, list, close: () => clearInterval(timer) };
  },
};

const contents = new Map<string, ResourceText | ResourceBlob>(
  [
    plain('test://static-text', 'This is the content of the static text resource.'),
    { uri: 'test://static-binary', mimeType: 'image/png', blob: pngBase64 },
    plain(watchedUri, 'Watched resource content'),
  ].map((content) => [content.uri, content]),
);

function plain(uri: string, text: string): ResourceText {
  return { uri, mimeType: 'text/plain', text };
}

function ofTemplate(uri: string): ResourceText | undefined {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id === undefined) return undefined;
  const data = { id, templateTest: true, data: `Data for ID: ${id}` };
  return { uri, mimeType: 'application/json', text: JSON.stringify(data) };
}
