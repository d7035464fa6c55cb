import { useEffect, useState } from 'react';
import { Button } from './button.tsx';
import { complain } from './toast.tsx';

const shownMillis = 1_500;

interface CopyProps {
  /** The text, or what makes it when it is asked for. */
  readonly text: string | (() => string);
  /** What is copied, such as `identity`. */
  readonly what: string;
  /** With a label it is a button with words, without it a small square. */
  readonly label?: string;
}

/** Copies a text, and shows for a moment that it did. */
export function Copy({ text, what, label }: CopyProps) {
  const [isDone, setDone] = useState(false);
  useEffect(() => {
    if (!isDone) return;
    const timer = setTimeout(() => setDone(false), shownMillis);
    return () => clearTimeout(timer);
  }, [isDone]);
  const copy = async () => {
    if (await copyText(typeof text === 'string' ? text : text())) setDone(true);
  };
  const icon = isDone ? 'check' : 'copy';
  if (label !== undefined) {
    return (
      <Button icon={icon} onClick={copy}>
        {isDone ? 'Copied' : label}
      </Button>
    );
  }
  const name = isDone ? 'Copied' : `Copy ${what}`;
  return <Button kind="plain" size="small" icon={icon} aria-label={name} onClick={copy} />;
}

/** Puts a text on the clipboard; says so where the browser does not let it. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch (error) {
    complain('The browser did not let the console copy', error);
    return false;
  }
}
