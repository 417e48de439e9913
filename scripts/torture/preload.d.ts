export function preloadLibrary(name: 'step-killer' | 'write-recorder' | 'disk-staller'): string | undefined;
