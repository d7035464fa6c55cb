import { Button } from '../../parts/button.tsx';
import { Copy } from '../../parts/copy.tsx';
import { download } from '../../parts/download.ts';
import { Panel } from '../../parts/page.tsx';
import { Empty, WhenLoaded } from '../../parts/state.tsx';
import { readBindings } from '../../service/bindings.ts';
import { useLoad } from '../../service/load.ts';
import { useParam } from '../../shell/router.tsx';
import styles from './schema.module.css';

/** Generated TypeScript for clients, a file at a time. */
export function Bindings({ database }: { readonly database: string }) {
  const files = useLoad(database, (signal) => readBindings(database, signal));
  const [chosen, choose] = useParam('file');
  return (
    <WhenLoaded of={files}>
      {(list) => {
        const file = list.find(({ path }) => path === chosen) ?? list[0];
        if (file === undefined) {
          return (
            <Panel>
              <Empty icon="info" title="Nothing to generate">
                The module declares nothing that a client could use.
              </Empty>
            </Panel>
          );
        }
        return (
          <div className={styles.files}>
            <nav className={styles.fileList} aria-label="Files">
              {list.map(({ path }) => (
                <button
                  key={path}
                  type="button"
                  className={styles.file}
                  aria-current={path === file.path || undefined}
                  onClick={() => choose(path)}
                >
                  {path}
                </button>
              ))}
            </nav>
            <Panel
              title={file.path}
              isBare
              actions={
                <>
                  <Copy text={file.text} what={file.path} label="Copy" />
                  <Button
                    icon="download"
                    onClick={() => download(nameOf(file.path), 'text/typescript', file.text)}
                  >
                    Save
                  </Button>
                </>
              }
            >
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard */}
              <section className={styles.code} tabIndex={0} aria-label={file.path}>
                <pre>{file.text}</pre>
              </section>
            </Panel>
          </div>
        );
      }}
    </WhenLoaded>
  );
}

function nameOf(path: string): string {
  return path.split('/').at(-1) ?? path;
}
