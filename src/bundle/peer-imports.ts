import type * as esbuild from 'esbuild';

/** Name of the library whose modules can move to this one by their imports. */
export const peerPackage = 'spacetimedb';

/** Its entries that exist here, too, under the same name. */
const sharedEntries: readonly string[] = ['', '/server', '/sdk', '/react'];

/** The import to write instead of one of the peer's; `undefined` where there is none. */
export function movedImport(specifier: string): string | undefined {
  if (!isPeerImport(specifier)) return undefined;
  const entry = specifier.slice(peerPackage.length);
  return sharedEntries.includes(entry) ? `reducerdb${entry}` : undefined;
}

export function isPeerImport(specifier: string): boolean {
  return specifier === peerPackage || specifier.startsWith(`${peerPackage}/`);
}

/** Name of the plugin, by which its errors are known. */
export const peerImports = 'name-peer-imports';

/**
 * Names each import of the peer's library in the project's own sources, with what to write instead:
 * an error, or a warning where the library is installed, which is then bundled as any other.
 */
export function namePeerImports(
  isInstalled: (build: esbuild.PluginBuild, args: esbuild.OnResolveArgs) => Promise<boolean>,
): esbuild.Plugin {
  return {
    name: peerImports,
    setup(build) {
      build.onResolve({ filter: /^spacetimedb(?:$|\/)/ }, async (args) => {
        const isOfPackage = /[\\/]node_modules[\\/]/.test(args.importer);
        if (args.pluginData !== undefined || isOfPackage) return undefined;
        const message = faultOf(args.path);
        return (await isInstalled(build, args)) ? { warnings: [message] } : { errors: [message] };
      });
    },
  };
}

function faultOf(specifier: string): esbuild.PartialMessage {
  const instead = movedImport(specifier);
  const change = instead === undefined ? '' : `: change it to "${instead}"`;
  return {
    text: `"${specifier}" is the library of another server${change}`,
    notes: [{ text: '`reducerdb migrate-from-spacetimedb` changes a whole project' }],
  };
}
