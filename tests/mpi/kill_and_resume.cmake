# cmake -DRUN=<mpiexec;-n;N;program> -DWORK=<folder> -DSEEDS=<how many> -P kill_and_resume.cmake
# A run is killed again and again, and has in the end the bits of one that was not.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})

# Returns what the program returned; not 0 if it was killed.
function(run folder seed status)
  execute_process(COMMAND ${RUN} ${WORK}/${folder} ${WORK}/${folder}.bits ${seed}
                  RESULT_VARIABLE result OUTPUT_VARIABLE printed ERROR_VARIABLE printed)
  if(printed MATCHES "killed_run:")  # an exception
    message(FATAL_ERROR "${printed}")
  endif()
  set(${status} ${result} PARENT_SCOPE)
endfunction()

run(whole 0 status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the run that nobody kills failed: ${status}")
endif()
set(kills 0)
set(runs 0)
foreach(seed RANGE 1 ${SEEDS})
  run(killed ${seed} status)
  if(status EQUAL 0)
    math(EXPR runs "${runs} + 1")
    execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${WORK}/whole.bits
                            ${WORK}/killed.bits RESULT_VARIABLE differ)
    if(differ)
      message(FATAL_ERROR "other bits after ${kills} kills")
    endif()
    file(REMOVE_RECURSE ${WORK}/killed)
  else()
    math(EXPR kills "${kills} + 1")
  endif()
endforeach()
run(killed 0 status)
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${WORK}/whole.bits ${WORK}/killed.bits
                RESULT_VARIABLE differ)
if(status OR differ)
  message(FATAL_ERROR "${status}: other bits after ${kills} kills")
endif()
message("${kills} kills")
if(kills EQUAL 0)
  message(FATAL_ERROR "nothing was killed")
endif()
file(REMOVE_RECURSE ${WORK})
