export function preloadLibrary(name: 'step-killer' | 'write-recorder'): string | undefined;
