cmake_minimum_required(VERSION 3.25)
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE printed
                  ERROR_VARIABLE printed)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGV}\n${printed}")
  endif()
  message("${printed}")
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${PROJECT} -B ${WORK}/build -G ${GENERATOR}
    -DCMAKE_BUILD_TYPE=${BUILD_TYPE} -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS}
    -DCMAKE_EXE_LINKER_FLAGS=${LINKER_FLAGS}
    "-DCMAKE_PREFIX_PATH=${WORK}/prefix;${PREFIXES}")
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/my_model)
