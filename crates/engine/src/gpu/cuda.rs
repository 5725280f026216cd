//! The few calls of NVIDIA's driver interface (`libcuda.so.1`) that copying needs, with their values owned.
//!
//! The library is opened where a job asks for a GPU: nothing is linked, so the same program runs where there is none.
//! Names, signatures and flags are those of `cuda.h`, which are stable.

use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    io, ptr,
};

use libloading::Library;

const LIBRARY: &str = "libcuda.so.1";
const SUCCESS: c_int = 0;
/// `CUDA_ERROR_NOT_READY`.
const NOT_READY: c_int = 600;
/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: c_uint = 1;
/// `CU_EVENT_DISABLE_TIMING`.
const WITHOUT_TIMING: c_uint = 2;
/// `CU_MEMHOSTREGISTER_PORTABLE`: known to all threads.
const PORTABLE: c_uint = 1;
/// Room for a name or an address on the bus.
const NAME_BYTES: usize = 96;

type Handle = *mut c_void;
type Address = u64;

/// A table of C functions, each taken from the library by its name.
macro_rules! functions {
    ($($(#[$attribute:meta])* $name:ident = $symbol:literal ($($kind:ty),*);)*) => {
        struct Functions {
            $($(#[$attribute])* $name: unsafe extern "C" fn($($kind),*) -> c_int,)*
        }

        impl Functions {
            fn of(library: &Library) -> Result<Self, libloading::Error> {
                // SAFETY: the signatures are those of `cuda.h`.
                unsafe { Ok(Self { $($(#[$attribute])* $name: *library.get($symbol)?,)* }) }
            }
        }
    };
}

functions! {
    init = b"cuInit" (c_uint);
    error_string = b"cuGetErrorString" (c_int, *mut *const c_char);
    device = b"cuDeviceGet" (*mut c_int, c_int);
    device_name = b"cuDeviceGetName" (*mut c_char, c_int, c_int);
    device_address = b"cuDeviceGetPCIBusId" (*mut c_char, c_int, c_int);
    retain_context = b"cuDevicePrimaryCtxRetain" (*mut Handle, c_int);
    set_context = b"cuCtxSetCurrent" (Handle);
    allocate = b"cuMemAlloc_v2" (*mut Address, usize);
    free = b"cuMemFree_v2" (Address);
    allocate_host = b"cuMemAllocHost_v2" (*mut Handle, usize);
    free_host = b"cuMemFreeHost" (Handle);
    register_host = b"cuMemHostRegister_v2" (Handle, usize, c_uint);
    unregister_host = b"cuMemHostUnregister" (Handle);
    create_stream = b"cuStreamCreate" (*mut Handle, c_uint);
    wait_for_stream = b"cuStreamSynchronize" (Handle);
    destroy_stream = b"cuStreamDestroy_v2" (Handle);
    copy_to_device = b"cuMemcpyHtoDAsync_v2" (Address, *const c_void, usize, Handle);
    #[cfg(test)]
    copy_to_host = b"cuMemcpyDtoH_v2" (*mut c_void, Address, usize);
    create_event = b"cuEventCreate" (*mut Handle, c_uint);
    record_event = b"cuEventRecord" (Handle, Handle);
    query_event = b"cuEventQuery" (Handle);
    destroy_event = b"cuEventDestroy_v2" (Handle);
}

/// The driver's functions. The library stays loaded as long as they do.
pub(super) struct Driver {
    functions: Functions,
    _library: Library,
}

/// The primary context of a device: what the CUDA runtime uses too.
pub(super) struct Context(Handle);

// SAFETY: a context may be current in any number of threads.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Driver {
    /// Opens the library.
    ///
    /// # Errors
    /// What is missing, for a reader.
    pub(super) fn load() -> Result<Self, String> {
        // SAFETY: NVIDIA's library may be loaded into any process.
        let library = unsafe { Library::new(LIBRARY) }
            .map_err(|_| format!("{LIBRARY}, NVIDIA's driver library, is not here"))?;
        let functions = Functions::of(&library)
            .map_err(|error| format!("{LIBRARY} lacks a function: {error}"))?;
        Ok(Self {
            functions,
            _library: library,
        })
    }

    /// Returns the context of the first device, its name and its address on the PCI bus.
    pub(super) fn first_device(&self) -> io::Result<(Context, String, String)> {
        let (mut device, mut context) = (0, ptr::null_mut());
        let functions = &self.functions;
        // SAFETY: each writes one value of the type that its pointer points to.
        unsafe {
            self.check((functions.init)(0))?;
            self.check((functions.device)(&raw mut device, 0))?;
            self.check((functions.retain_context)(&raw mut context, device))?;
        }
        let name = self.text(functions.device_name, device)?;
        let address = self.text(functions.device_address, device)?;
        Ok((Context(context), name, address))
    }

    fn text(
        &self,
        of: unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int,
        device: c_int,
    ) -> io::Result<String> {
        let mut text = [0u8; NAME_BYTES];
        // SAFETY: at most the length given is written, its final zero included.
        self.check(unsafe { of(text.as_mut_ptr().cast(), NAME_BYTES as c_int, device) })?;
        let text = CStr::from_bytes_until_nul(&text).map_err(io::Error::other)?;
        Ok(text.to_string_lossy().into_owned())
    }

    /// Makes the calling thread's calls go to the context's device.
    pub(super) fn enter(&self, context: &Context) -> io::Result<()> {
        // SAFETY: the context was retained and is never released.
        self.check(unsafe { (self.functions.set_context)(context.0) })
    }

    pub(super) fn memory(&self, bytes: usize) -> io::Result<Memory<'_>> {
        let mut address = 0;
        // SAFETY: writes one address.
        self.check(unsafe { (self.functions.allocate)(&raw mut address, bytes) })?;
        Ok(Memory {
            driver: self,
            address,
        })
    }

    pub(super) fn host_memory(&self, bytes: usize) -> io::Result<HostMemory<'_>> {
        let mut data = ptr::null_mut();
        // SAFETY: writes one pointer.
        self.check(unsafe { (self.functions.allocate_host)(&raw mut data, bytes) })?;
        Ok(HostMemory { driver: self, data })
    }

    /// Pins memory of the process for copies by the device.
    ///
    /// # Safety
    /// The memory must stay mapped as long as the value lives.
    pub(super) unsafe fn register(
        &self,
        data: *mut c_void,
        bytes: usize,
    ) -> io::Result<Registered<'_>> {
        // SAFETY: the caller's.
        self.check(unsafe { (self.functions.register_host)(data, bytes, PORTABLE) })?;
        Ok(Registered { driver: self, data })
    }

    pub(super) fn stream(&self) -> io::Result<Stream<'_>> {
        let mut stream = ptr::null_mut();
        // SAFETY: writes one handle.
        self.check(unsafe { (self.functions.create_stream)(&raw mut stream, NON_BLOCKING) })?;
        Ok(Stream {
            driver: self,
            stream,
        })
    }

    pub(super) fn event(&self) -> io::Result<Event<'_>> {
        let mut event = ptr::null_mut();
        // SAFETY: writes one handle.
        self.check(unsafe { (self.functions.create_event)(&raw mut event, WITHOUT_TIMING) })?;
        Ok(Event {
            driver: self,
            event,
        })
    }

    #[inline]
    fn check(&self, result: c_int) -> io::Result<()> {
        match result {
            SUCCESS => Ok(()),
            _ => Err(self.error(result)),
        }
    }

    #[cold]
    fn error(&self, result: c_int) -> io::Error {
        let mut text = ptr::null();
        // SAFETY: writes a pointer to a text that is never freed, or nothing.
        let known = unsafe { (self.functions.error_string)(result, &raw mut text) };
        if known != SUCCESS || text.is_null() {
            return io::Error::other(format!("CUDA error {result}"));
        }
        // SAFETY: the driver's texts end with a zero.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
        io::Error::other(format!("{text} (CUDA error {result})"))
    }
}

/// Memory of the device.
pub(super) struct Memory<'d> {
    driver: &'d Driver,
    address: Address,
}

impl Memory<'_> {
    /// Returns the address of its byte `offset`.
    pub(super) fn at(&self, offset: usize) -> Address {
        self.address + offset as Address
    }

    #[cfg(test)]
    pub(super) fn read(&self, offset: usize, into: &mut [u8]) -> io::Result<()> {
        let read = self.driver.functions.copy_to_host;
        // SAFETY: `into` is as long as it says; an offset beyond the memory is refused by the driver.
        let result = unsafe { read(into.as_mut_ptr().cast(), self.at(offset), into.len()) };
        self.driver.check(result)
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        // SAFETY: allocated by the driver, freed once; the driver waits for what still uses it.
        unsafe { (self.driver.functions.free)(self.address) };
    }
}

/// Memory of the host that the driver has pinned.
pub(super) struct HostMemory<'d> {
    driver: &'d Driver,
    data: Handle,
}

impl HostMemory<'_> {
    pub(super) fn data(&self) -> *const c_void {
        self.data
    }
}

impl Drop for HostMemory<'_> {
    fn drop(&mut self) {
        // SAFETY: allocated by the driver, freed once.
        unsafe { (self.driver.functions.free_host)(self.data) };
    }
}

/// Memory of the process that the driver has pinned.
pub(super) struct Registered<'d> {
    driver: &'d Driver,
    data: Handle,
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        // SAFETY: registered once, and still mapped.
        unsafe { (self.driver.functions.unregister_host)(self.data) };
    }
}

/// Work of the device, done in the order in which it was asked for.
pub(super) struct Stream<'d> {
    driver: &'d Driver,
    stream: Handle,
}

impl Stream<'_> {
    /// Begins to copy to the device.
    ///
    /// # Safety
    /// Both ranges must stay valid, and the source unchanged, until the copy is complete.
    #[inline]
    pub(super) unsafe fn copy(
        &self,
        to: Address,
        from: *const c_void,
        bytes: usize,
    ) -> io::Result<()> {
        // SAFETY: the caller's.
        let result =
            unsafe { (self.driver.functions.copy_to_device)(to, from, bytes, self.stream) };
        self.driver.check(result)
    }

    pub(super) fn wait(&self) -> io::Result<()> {
        // SAFETY: the stream lives.
        self.driver
            .check(unsafe { (self.driver.functions.wait_for_stream)(self.stream) })
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        // Nothing can be done about a stream that failed.
        let _ = self.wait();
        // SAFETY: created by the driver, destroyed once.
        unsafe { (self.driver.functions.destroy_stream)(self.stream) };
    }
}

/// A moment in a stream.
pub(super) struct Event<'d> {
    driver: &'d Driver,
    event: Handle,
}

impl Event<'_> {
    /// Makes it happen when what was asked of the stream so far is done.
    #[inline]
    pub(super) fn record(&self, stream: &Stream<'_>) -> io::Result<()> {
        // SAFETY: both live.
        self.driver
            .check(unsafe { (self.driver.functions.record_event)(self.event, stream.stream) })
    }

    #[inline]
    pub(super) fn has_happened(&self) -> io::Result<bool> {
        // SAFETY: the event lives.
        match unsafe { (self.driver.functions.query_event)(self.event) } {
            NOT_READY => Ok(false),
            result => self.driver.check(result).map(|()| true),
        }
    }
}

impl Drop for Event<'_> {
    fn drop(&mut self) {
        // SAFETY: created by the driver, destroyed once.
        unsafe { (self.driver.functions.destroy_event)(self.event) };
    }
}
