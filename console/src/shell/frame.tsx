import { type ReactNode, useEffect, useRef, useState } from 'react';
import { DatabaseProvider, useDatabase } from './database-context.tsx';
import styles from './frame.module.css';
import { Navigation } from './navigation.tsx';
import type { PageEntry } from './page-entry.ts';
import { PageView } from './page-view.tsx';
import { Palette } from './palette.tsx';
import { useAddress } from './router.tsx';
import { TopLine } from './top-line.tsx';

/** Navigation, top line, and the page of the address. */
export function Frame({ pages }: { readonly pages: readonly PageEntry[] }) {
  const { segments } = useAddress();
  const database = segments[0] === 'db' ? (segments[1] ?? null) : null;
  const path = database === null ? segments.join('/') : (segments[2] ?? 'data');
  const scope = database === null ? 'host' : 'database';
  const page = pages.find((each) => each.scope === scope && each.path === path);
  if (database === null) return <Laid pages={pages} page={page} database={null} />;
  return (
    <DatabaseProvider key={database} database={database}>
      <LaidWithDatabase pages={pages} page={page} database={database} />
    </DatabaseProvider>
  );
}

interface LaidProps {
  readonly pages: readonly PageEntry[];
  readonly page: PageEntry | undefined;
  readonly database: string | null;
  readonly of?: ReturnType<typeof useDatabase>;
}

function LaidWithDatabase(props: LaidProps) {
  return <Laid {...props} of={useDatabase()} />;
}

function Laid({ pages, page, database, of }: LaidProps) {
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [isFinding, setFinding] = useState(false);
  useKey('k', () => setFinding(true));
  useEffect(() => {
    const place = [page?.title, database, 'reducerdb'].filter(Boolean);
    document.title = place.join(' · ');
  }, [page, database]);
  const navigation = <Navigation pages={pages} current={page} database={database} />;
  return (
    <div className={styles.frame}>
      <a className={styles.skip} href="#main">
        Skip to the page
      </a>
      <aside className={styles.side}>{navigation}</aside>
      <TopLine
        page={page}
        database={database}
        rights={of?.rights.value ?? null}
        onMenu={() => setMenuOpen(true)}
        onFind={() => setFinding(true)}
      />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard */}
      <main id="main" className={styles.main} tabIndex={0}>
        <PageView page={page} database={database} />
      </main>
      {isMenuOpen && <Drawer onClose={() => setMenuOpen(false)}>{navigation}</Drawer>}
      {isFinding && (
        <Palette
          pages={pages}
          database={database}
          schema={of?.schema.value}
          onClose={() => setFinding(false)}
        />
      )}
    </div>
  );
}

/** The navigation on narrow windows; it closes when one has gone somewhere. */
function Drawer({ children, onClose }: { readonly children: ReactNode; onClose: () => void }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it, and links are links
    <dialog
      ref={element}
      className={styles.drawer}
      aria-label="Navigation"
      onCancel={onClose}
      onClick={(event) => {
        const target = event.target as HTMLElement;
        if (target === element.current || target.closest('a') !== null) onClose();
      }}
    >
      {children}
    </dialog>
  );
}

/** Runs `run` when Control or Command is pressed with this letter. */
function useKey(letter: string, run: () => void): void {
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== letter || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      latest.current();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, [letter]);
}
