/** Offers a text as a file to the person in front of the page. */
export function download(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // The browser has taken its own hold of the contents by the next task.
  setTimeout(() => URL.revokeObjectURL(address), 0);
}
