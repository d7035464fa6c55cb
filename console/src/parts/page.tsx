import type { ReactNode } from 'react';
import { classes } from './classes.ts';
import styles from './page.module.css';

interface PageFrameProps {
  readonly title: string;
  readonly about?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A page of text and panels, with its heading and its main actions. */
export function PageFrame({ title, about, actions, children }: PageFrameProps) {
  return (
    <div className={styles.page}>
      <header className={styles.head}>
        <div className={styles.words}>
          <h1>{title}</h1>
          {about !== undefined && <p>{about}</p>}
        </div>
        {actions !== undefined && <div className={styles.actions}>{actions}</div>}
      </header>
      {children}
    </div>
  );
}

/** A page that fills the window and scrolls inside; its heading is for those who listen. */
export function FullPage({ title, children }: { readonly title: string; children: ReactNode }) {
  return (
    <div className={classes(styles.page, styles.full)}>
      <h1 className="visually-hidden">{title}</h1>
      {children}
    </div>
  );
}

/** A row of controls above something. */
export function Bar({ label, children }: { readonly label: string; children: ReactNode }) {
  return (
    <div className={styles.bar} role="toolbar" aria-label={label}>
      {children}
    </div>
  );
}

/** Takes the room that is left in a bar. */
export function Space() {
  return <span className={styles.space} />;
}

interface PanelProps {
  readonly title?: string;
  readonly actions?: ReactNode;
  /** Without room around its contents, such as for a table. */
  readonly isBare?: boolean;
  readonly children: ReactNode;
}

export function Panel({ title, actions, isBare, children }: PanelProps) {
  return (
    <section className={styles.panel} aria-label={title}>
      {(title !== undefined || actions !== undefined) && (
        <header className={styles.panelHead}>
          <h2>{title}</h2>
          {actions !== undefined && <div className={styles.actions}>{actions}</div>}
        </header>
      )}
      {isBare === true ? children : <div className={styles.panelBody}>{children}</div>}
    </section>
  );
}

/** Names and what they are. */
export function Facts({ of }: { readonly of: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className={styles.facts}>
      {of.map(([name, value]) => (
        <FactRow key={name} name={name} value={value} />
      ))}
    </dl>
  );
}

function FactRow({ name, value }: { readonly name: string; readonly value: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}
